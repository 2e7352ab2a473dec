//! The help by task, and `wwwoffle help TOPIC`.

use std::path::Path;

use super::super::tests::wwwoffle;
use super::{GROUPS, args};
use crate::base::exit::ExitStatus;

fn help(line: &[&str]) -> String {
    let ran = wwwoffle(line, "", Path::new("/nowhere"));
    assert_eq!((ran.status, ran.err.as_str()), (ExitStatus::Done, ""), "{line:?}");
    ran.out
}

#[test]
fn every_verb_is_in_one_group_and_the_first_has_five() {
    let command = args::command();
    let mut grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|group| group.commands(&command))
        .map(clap::Command::get_name)
        .collect();
    let mut verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    grouped.sort_unstable();
    verbs.sort_unstable();
    assert_eq!(grouped, verbs);
    let first: Vec<&str> = GROUPS[0].commands(&command).map(clap::Command::get_name).collect();
    assert_eq!(first, ["browse", "serve", "status", "offline", "online"]);
}

#[test]
fn the_help_lists_the_verbs_by_task_and_fits_a_terminal() {
    let text = help(&["--help"]);
    assert_eq!(text, help(&["help"]), "both are the same");
    let begin = text.find("\nBegin here:\n  browse      Start a browser").expect(&text);
    let store = text.find("\nStore pages:\n  get         Store pages").expect(&text);
    assert!(begin < store && text.contains("\nOptions:\n"), "{text}");
    assert!(text.contains("\nExit statuses:\n   0  done\n"), "{text}");
}

#[test]
fn help_explains_verbs_sections_and_options() {
    assert_eq!(help(&["help", "config", "set"]), help(&["config", "set", "--help"]));
    assert_eq!(help(&["help", "get"]), help(&["get", "--help"]));
    let option = help(&["help", "startup.listen"]);
    assert!(option.starts_with("startup.listen: The addresses and ports"), "{option}");
    for line in [
        "  Type: addresses\n",
        "  Default: [\"127.0.0.1:8080\"]\n",
        "  Read only when the daemon starts.\n",
        "  Protected (access): ",
        "An array of addresses with a port",
    ] {
        assert!(option.contains(line), "{line:?} in {option}");
    }
    assert!(help(&["help", "[startup]"]).contains("\n  listen = [\"127.0.0.1:8080\"]\n"));
    let both = help(&["help", "purge"]);
    assert!(both.contains("Usage: wwwoffle purge") && both.contains("[purge]: "), "{both}");
    assert!(help(&["help", "config"]).contains("\n  startup                How the daemon"));
}

#[test]
fn an_unknown_topic_is_refused_with_the_way_to_the_lists() {
    for topic in [&["help", "sreve"][..], &["help", "startup.port"], &["help", "get", "set"]] {
        let ran = wwwoffle(topic, "", Path::new("/nowhere"));
        assert_eq!((ran.status, ran.out.as_str()), (ExitStatus::Usage, ""), "{topic:?}");
        assert!(ran.err.contains("is neither a verb nor an option"), "{}", ran.err);
    }
}
