//! The verbs by task, and `wwwoffle help TOPIC`.

#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use clap::Command;
use wwwoffle_config::schema::{Effect, OptionInfo, SECTIONS, Section};

use super::failure::{VerbFailure, VerbResult};
use super::{Terminal, args};
use crate::base::exit::ExitStatus;

/// A task and the verbs for it, in the order of the help.
#[derive(Debug)]
pub(super) struct VerbGroup {
    pub(super) task: &'static str,
    verbs: &'static [&'static str],
}

/// Every verb once. The first group has the five verbs that a new user needs.
pub(super) const GROUPS: [VerbGroup; 8] = [
    VerbGroup { task: "Begin here", verbs: &["browse", "serve", "status", "offline", "online"] },
    VerbGroup { task: "Store pages", verbs: &["get", "fetch", "queue", "runs", "monitor"] },
    VerbGroup {
        task: "Find and read pages",
        verbs: &["search", "ls", "cat", "info", "history", "collection"],
    },
    VerbGroup {
        task: "Keep, change and remove pages",
        verbs: &["pin", "unpin", "rm", "mv", "write", "purge", "gzip", "gunzip"],
    },
    VerbGroup {
        task: "Control the daemon",
        verbs: &["autodial", "auto", "downloads", "usage", "stop"],
    },
    VerbGroup { task: "Set up", verbs: &["setup", "config", "service", "passwd", "ca"] },
    VerbGroup { task: "Exchange and check", verbs: &["import", "export", "fsck", "reindex"] },
    VerbGroup { task: "Programs and help", verbs: &["run", "hash", "url", "help"] },
];

impl VerbGroup {
    /// Returns the commands of the group.
    pub(super) fn commands<'a>(&self, all: &'a Command) -> impl Iterator<Item = &'a Command> {
        self.verbs.iter().filter_map(|verb| all.find_subcommand(verb))
    }
}

/// Returns the template of the help of the program, with the verbs by task.
pub(super) fn template(command: &Command) -> String {
    let mut template = String::from("{about}\n\n{usage-heading} {usage}\n");
    for group in &GROUPS {
        let _written = write!(template, "\n{}:\n", group.task);
        for verb in group.commands(command) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let _written = writeln!(template, "  {:<10}  {about}", verb.get_name());
        }
    }
    template + "\nOptions:\n{options}{after-help}"
}

/// Prints the help of the program, of a verb, or of options of the configuration.
pub(super) fn run(topic: &[String], terminal: &mut Terminal<'_>) -> VerbResult {
    let verb = verb_help(topic);
    let options = match topic {
        [name] if name == "config" => Some(sections()),
        [name] => option_help(name),
        _ => None,
    };
    if verb.is_none() && options.is_none() {
        return Err(VerbFailure::usage(format_args!(
            "{:?} is neither a verb nor an option of the configuration: `wwwoffle help` lists the \
             verbs, `wwwoffle help config` the sections of the configuration",
            topic.join(" ")
        )));
    }
    let texts: Vec<String> = [verb, options].into_iter().flatten().collect();
    write!(terminal.stdout, "{}", texts.join("\n"))?;
    Ok(ExitStatus::Done)
}

fn verb_help(topic: &[String]) -> Option<String> {
    let mut command = args::command();
    let mut at = &command;
    for verb in topic {
        at = at.find_subcommand(verb)?;
    }
    let typed = ["wwwoffle"].into_iter().chain(topic.iter().map(String::as_str)).chain(["--help"]);
    // The help is an error of the parser.
    command.try_get_matches_from_mut(typed).err().map(|help| help.to_string())
}

fn sections() -> String {
    let mut text = "Sections of the configuration, for `wwwoffle help SECTION`:\n".to_owned();
    for section in SECTIONS {
        let _written = writeln!(text, "  {:<21}  {}", section.name, section.sentence.trim());
    }
    text
}

/// Describes the option `SECTION.KEY`, or all options of a section.
fn option_help(name: &str) -> Option<String> {
    let (name, key) = match name.split_once('.') {
        Some((section, key)) => (section, Some(key)),
        None => (name, None),
    };
    let name = name.trim_matches(['[', ']']);
    let section = SECTIONS.iter().find(|section| section.name == name)?;
    let Some(key) = key else { return Some(section_text(section)) };
    section.options.iter().find(|option| option.key == key).map(|option| option_text(name, option))
}

fn section_text(section: &Section) -> String {
    let mut text = format!("[{}]: {}\n\n", section.name, section.sentence.trim());
    for option in section.options {
        let _written = writeln!(text, "  {} = {}", option.key, option.default);
        let _written = writeln!(text, "      {}", option.sentence.trim());
    }
    let _written =
        writeln!(text, "\n`wwwoffle help {}.KEY` explains the values of an option.", section.name);
    text
}

fn option_text(section: &str, option: &OptionInfo) -> String {
    let OptionInfo { key, kind, default, .. } = option;
    let mut text = format!("{section}.{key}: {}\n\n", option.sentence.trim());
    let _written = writeln!(text, "  Type: {kind}\n  Default: {default}");
    if option.rules {
        text += "  Rules may set it for some URLs.\n";
    }
    if option.effect == Effect::Restart {
        text += "  Read only when the daemon starts.\n";
    }
    if option.protection.is_protected() {
        let protection = option.protection;
        let _written = writeln!(text, "  Protected ({protection}): see docs/options.md.");
    }
    let _written = writeln!(text, "\n{}", option.meaning.trim());
    text
}
