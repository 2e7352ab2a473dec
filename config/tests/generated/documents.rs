//! The documents that follow from the schema. The other files of this folder are their templates: a
//! line such as `{sections}` stands for the generated lines.

use wwwoffle_config::{
    FormerOption, Successor,
    schema::{Effect, OptionInfo, SECTIONS, Section},
};

/// The column at which comments of the example are wrapped.
const WIDTH: usize = 100;

/// The reference of all options, in Markdown.
pub(crate) fn options_markdown() -> String {
    let sections: String = SECTIONS.iter().map(section_markdown).collect();
    let mut kinds = Vec::new();
    let mut types = String::new();
    for option in SECTIONS.iter().flat_map(|section| section.options) {
        if !kinds.contains(&option.kind) {
            kinds.push(option.kind);
            types += &type_markdown(option);
        }
    }
    let template = include_str!("options.md");
    template.replace("{sections}\n", &sections).replace("{types}\n", &types)
}

/// The page "From WWWOFFLE 2.9": the successor of each option, in Markdown.
pub(crate) fn former_markdown() -> String {
    let row = |former: FormerOption| {
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
    let rows: String = FormerOption::all().map(row).collect();
    include_str!("from-2.9.md").replace("{rows}\n", &rows)
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
    let protection = if option.protection.is_protected() {
        format!("\n- [Protected](#protected-options): {}", option.protection)
    } else {
        String::new()
    };
    format!(
        "\n### {}\n\n{sentence}\n\n- Type: [{kind}](#type-{anchor})\n- Default: `{default}`{rules}{effect}{protection}\n",
        option.key
    )
}

/// A configuration with every option. Each default is commented out.
pub(crate) fn example() -> String {
    let sections: String = SECTIONS.iter().map(section_example).collect();
    include_str!("example.conf").replace("{sections}\n", &sections)
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
