//! What the schema says, told to people: `docs/options.md` and `wwwoffle.conf.example`.

use crate::schema::{Effect, OptionInfo, SECTIONS, Section};

/// Column at which comments of the example are wrapped.
const WIDTH: usize = 100;

const OPTIONS_INTRODUCTION: &str = r#"# Options

<!-- Written from config/src/schema.rs by `UPDATE=1 cargo test -p wwwoffle-config`. -->

The configuration is one [TOML](https://toml.io) file. It is the one that `--config FILE` names, else
the one that `$WWWOFFLE_CONFIG` names, else `wwwoffle/wwwoffle.conf` in the XDG configuration
directory (`$XDG_CONFIG_HOME`, or `~/.config`), else `/etc/wwwoffle/wwwoffle.conf`. Without any file
every option has its default. `wwwoffle.conf.example` holds every option, to copy and change.

An option that rules may set can differ from URL to URL. A rule stands after its section and says for which
URLs it holds, as a URL-SPECIFICATION or an array of them, in which the first that matches decides. For
each option the first rule that holds for a URL and sets it decides; where none does, it is what the section
itself says:

```toml
[offline-options]
confirm-requests = true

[[offline-options.for]]
url = ["*://*.example.org/*", "!*://news.example.org/*"]
confirm-requests = false
```

`include = "more.toml"` in a section, or an array of such names, takes further options and rules of that section
from files, which hold them as the section would, without its header. What the section itself sets comes
first, and so do its rules. A file is found from the directory of the one that names it, and can include more.

The daemon reads the file when it starts. It uses a file only when nothing in it is wrong: otherwise
every fault is told, each with its line, and the daemon ends with exit status 64.
"#;

const EXAMPLE_INTRODUCTION: &str = r#"# The configuration of wwwoffle: every option, its default commented out. Copy this to
# ~/.config/wwwoffle/wwwoffle.conf and change what you need. docs/options.md says more on each type.
#
# An option with "rules" can differ from URL to URL. A rule stands after its section:
#
#     [[offline-options.for]]
#     url = ["*://*.example.org/*", "!*://news.example.org/*"]
#     confirm-requests = true
#
# Written from config/src/schema.rs by `UPDATE=1 cargo test -p wwwoffle-config`.
"#;

/// The reference of all options, in Markdown.
#[must_use]
pub fn options_markdown() -> String {
    let sections: String = SECTIONS.iter().map(section_markdown).collect();
    let mut told = Vec::new();
    let mut types = String::new();
    for option in SECTIONS.iter().flat_map(|section| section.options) {
        if !told.contains(&option.kind) {
            told.push(option.kind);
            types += &type_markdown(option);
        }
    }
    format!("{OPTIONS_INTRODUCTION}{sections}\n## Types\n{types}")
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
    // Headings become anchors in lower case, with a dash for each space and without the colon.
    let anchor = kind.to_ascii_lowercase().replace(' ', "-");
    let default = option.default;
    let effect = match option.effect {
        Effect::Restart => "\n- Read only when the daemon starts",
        Effect::Live => "",
        Effect::Later => "\n- Read and checked; has no effect yet",
    };
    let rules = if option.rules { "\n- Rules may set it" } else { "" };
    format!(
        "\n### {}\n\n{sentence}\n\n- Type: [{kind}](#type-{anchor})\n- Default: `{default}`{rules}{effect}\n",
        option.key
    )
}

/// A configuration with every option, each default commented out.
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
    let told = format!("{} ({}{rules}{later})", option.sentence.trim(), option.kind);
    format!("\n{}#{} = {}\n", comment(&told), option.key, option.default)
}

/// `text` in lines of comment.
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
