//! Documents that follow from the schema: `docs/options.md`, `docs/guide/from-2.9.md` and
//! `wwwoffle.conf.example`.

mod json;

use crate::{
    former::{FORMER, FormerOption, Successor},
    schema::{Effect, OptionInfo, Protection, SECTIONS, Section},
};

/// The column at which comments of the example are wrapped.
const WIDTH: usize = 100;

const OPTIONS_INTRODUCTION: &str = r#"# All options

<!-- Written from config/src/schema.rs by `UPDATE=1 cargo test -p wwwoffle-config`. -->

The configuration is one [TOML](https://toml.io) file, the first of these that applies:

1. the file that `--config FILE` names;
2. the file that `$WWWOFFLE_CONFIG` names;
3. `wwwoffle/wwwoffle.conf` in the XDG configuration directory (`$XDG_CONFIG_HOME`, or `~/.config`);
4. `/etc/wwwoffle/wwwoffle.conf`.

Without a file every option has its default. `wwwoffle.conf.example` contains every option, to copy and
change.

An option that rules may set can depend on the URL. A rule stands after its section. Its `url` is a
URL-SPECIFICATION or an array of them, in which the first match decides whether the rule applies. For each
option, the first rule that applies to a URL and sets the option decides. Without such a rule, the value in
the section applies:

```toml
[offline-options]
confirm-requests = true

[[offline-options.for]]
url = ["*://*.example.org/*", "!*://news.example.org/*"]
confirm-requests = false
```

`include = "more.toml"` in a section, or an array of such names, adds options and rules from other files.
They are written as in the section, without its header. Options and rules of the section itself come first.
A path is relative to the directory of the including file. Included files can include more.

The daemon reads the file when it starts, when it or an included file has changed, on SIGHUP, and on request.
It uses a file only if it has no errors. Otherwise it reports every error with its line. At the start the
daemon then exits with status 64; later the previous configuration stays in force. Options that are read only
at the start are marked below.

## Protected options

An option marked "Protected" can be changed in the file, with `wwwoffle config`, and with the
[control password](guide/sharing.md#the-control-password). The pages and the API refuse to change it without that
password. The same holds for every option that would name another file.

| kind | options of this kind |
|---|---|
| program | name a program that the daemon runs |
| path | name a file or directory that the daemon reads or writes |
| access | decide who may use or control the proxy, and which hosts and ports they can reach |
| trust | decide what browsers receive in the name of other sites |
"#;

const EXAMPLE_INTRODUCTION: &str = r#"# The configuration of wwwoffle: every option with its default, commented out. Copy this file to
# ~/.config/wwwoffle/wwwoffle.conf and change the options you need. docs/options.md explains each type.
#
# An option with "rules" can depend on the URL. A rule stands after its section:
#
#     [[proxy.for]]
#     url = ["*://*.example.org/*", "!*://news.example.org/*"]
#     proxy = "proxy.example.org:3128"
#
# Written from config/src/schema.rs by `UPDATE=1 cargo test -p wwwoffle-config`.
"#;

const FORMER_INTRODUCTION: &str = r#"# From WWWOFFLE 2.9

<!-- Written from config/src/former.rs by `UPDATE=1 cargo test -p wwwoffle-config`. -->

**Task:** move from WWWOFFLE 2.9, with its configuration and its spool.

1. Convert the configuration: `wwwoffle config import OLD.conf --output wwwoffle.conf`. Comments are preserved, and
   the files of sections are included.
2. Read the list of lines without a counterpart. Each stays in the new file as a comment with the reason.
3. Set passwords with `wwwoffle passwd`: they are not converted.
4. Copy the spool: `wwwoffle import /var/spool/wwwoffle` (see [Archives](archives.md)).
5. Start the daemon: `wwwoffle --config wwwoffle.conf serve`.

**Result:** the report of the import counts pages, queued requests and monitored pages. `wwwoffle ls` lists them.
HTTPS is stored by default: `enable-caching = no` and an `allow-tunnel` for all hosts are left out.

The new format is TOML. Most sections and options keep their names, in lower case with dashes. General
differences:

- A value has quotes and a unit: `socket-timeout = "2m"`. In ages, months are `mo` and minutes `min`; sizes say
  `kB`, `MB` or `GiB`.
- `none` is now `""`, `yes` is `true`, and an age of -1 is `"never"`.
- `<URL-SPECIFICATION> option = value` is now a rule after its section:

  ```toml
  [[online-options.for]]
  url = "*://*.news.example/*"
  request-changed = "1h"
  ```

  As before, the first match decides. A rule can have several URL-SPECIFICATIONs and set several options.
- A list is an array: `urls = ["*://ads.example/*", { file = "more.txt" }]`. `!` and `~` are unchanged.
- `http://www.example.org:8000` without a slash means every page of that host; 2.9 read it as a host name.
- `[file]` instead of the lines of a section is now `include = "file.toml"` in the section.
- By default a page is revalidated when it is stale by HTTP's own rules. The options for online requests
  override these rules only where they are set.
- `wwwoffle -purge` is now [`wwwoffle purge`](purge.md). It can list the pages to remove beforehand, and the
  daemon can run it on its own (`every`, `min-free`). Pinned pages stay, and sub-resources are removed after the
  pages of their site.

| section | option | now |
|---|---|---|
"#;

const FORMER_TOOLS: &str = r"
## Programs

The programs of 2.9 are now verbs of one program, `wwwoffle`. They accept a URL in any spelling, find the spool by
the configuration or `--spool`, and work [with or without a running daemon](command-line.md).

| program | now |
|---|---|
| wwwoffle-ls | `wwwoffle ls` — `http/www.example.org` and `outgoing` work as before; it lists the URLs of a host, not file names. |
| wwwoffle-rm | `wwwoffle rm` |
| wwwoffle-mv | `wwwoffle mv`; `-r` for all pages below a URL. Both arguments are whole URLs, not `http/host`. |
| wwwoffle-read | `wwwoffle cat --headers`; without `--headers` it works like `--removeheader`. |
| wwwoffle-write | `wwwoffle write --headers`; without `--headers` it works like `--addheader`. |
| wwwoffle-hash | `wwwoffle hash` — The key is a SHA-256 of the canonical URL. |
| wwwoffle-gzip, wwwoffle-gunzip | `wwwoffle gzip` and `wwwoffle gunzip`, of URLs or `--host www.example.org`. The whole file is [compressed](purge.md#compressing), so the received data stays unchanged. |
| wwwoffle-fsck | `wwwoffle fsck --repair` — Without `--repair` it changes nothing. It checks more than names. |
| wwwoffle-checkcert | `wwwoffle ca show` |

## What can go wrong

| message | reason and remedy |
|---|---|
| `this is a configuration of WWWOFFLE 2.9: …` | the daemon got the old file: convert it with the command in the message |
| entries that the import refuses | the report lists each with its reason, see [Archives](archives.md) |
";

pub use json::json_schema;

/// The reference of all options, in Markdown.
#[must_use]
pub fn options_markdown() -> String {
    let sections: String = SECTIONS.iter().map(section_markdown).collect();
    let mut kinds = Vec::new();
    let mut types = String::new();
    for option in SECTIONS.iter().flat_map(|section| section.options) {
        if !kinds.contains(&option.kind) {
            kinds.push(option.kind);
            types += &type_markdown(option);
        }
    }
    format!("{OPTIONS_INTRODUCTION}{sections}\n## Types\n{types}")
}

/// The page "From WWWOFFLE 2.9": the successor of each option, in Markdown.
#[must_use]
pub fn former_markdown() -> String {
    let row = |former: &FormerOption| {
        let key = if former.key.is_empty() { "(entries)" } else { former.key };
        let link =
            |section: &str, key: &str| format!("[`[{section}]`](../options.md#{section}) `{key}`");
        let now = match former.now {
            Successor::Same { section, key } => link(section, key),
            Successor::Gone { reason, instead: None } => format!("— {reason}"),
            Successor::Gone { reason, instead: Some((section, key)) } => {
                format!("{} — {reason}", link(section, key))
            }
        };
        format!("| {} | {key} | {now} |\n", former.section)
    };
    let rows: String = FORMER.iter().map(row).collect();
    format!("{FORMER_INTRODUCTION}{rows}{FORMER_TOOLS}")
}

fn type_markdown(option: &OptionInfo) -> String {
    format!("\n### Type: {}\n\n{}\n", option.kind, option.meaning)
}

fn section_markdown(section: &Section) -> String {
    let options: String = section.options.iter().map(option_markdown).collect();
    format!("\n## [{}]\n\n{}\n{options}", section.name, section.sentence.trim())
}

fn option_markdown(option: &OptionInfo) -> String {
    let sentence = option.sentence.trim();
    let kind = option.kind;
    // An anchor is the heading in lower case, with a dash for each space and without the colon.
    let anchor = kind.to_ascii_lowercase().replace(' ', "-");
    let default = option.default;
    let effect = match option.effect {
        Effect::Restart => "\n- Read only when the daemon starts",
        Effect::Live => "",
        Effect::Later => "\n- Read and checked; has no effect yet",
    };
    let rules = if option.rules { "\n- Rules may set it" } else { "" };
    let protection = match option.protection {
        Protection::Ordinary => "",
        Protection::Program => "\n- [Protected](#protected-options): program",
        Protection::Path => "\n- [Protected](#protected-options): path",
        Protection::Access => "\n- [Protected](#protected-options): access",
        Protection::Trust => "\n- [Protected](#protected-options): trust",
    };
    format!(
        "\n### {}\n\n{sentence}\n\n- Type: [{kind}](#type-{anchor})\n- Default: `{default}`{rules}{effect}{protection}\n",
        option.key
    )
}

/// A configuration with every option. Each default is commented out.
#[must_use]
pub fn example() -> String {
    let sections: String = SECTIONS.iter().map(section_example).collect();
    format!("{EXAMPLE_INTRODUCTION}{sections}")
}

fn section_example(section: &Section) -> String {
    let options: String = section.options.iter().map(option_example).collect();
    format!("\n{}[{}]\n{options}", comment(section.sentence), section.name)
}

fn option_example(option: &OptionInfo) -> String {
    let rules = if option.rules { "; rules" } else { "" };
    let later = if option.effect == Effect::Later { "; no effect yet" } else { "" };
    let text = format!("{} ({}{rules}{later})", option.sentence.trim(), option.kind);
    format!("\n{}#{} = {}\n", comment(&text), option.key, option.default)
}

/// Wraps `text` into comment lines.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines += "\n";
            line = String::from("#");
        }
        line += " ";
        line += word;
    }
    lines + &line + "\n"
}
