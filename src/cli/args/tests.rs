//! Which command lines are accepted and which are refused.

use clap::{CommandFactory as _, Parser as _};

use super::Arguments;

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn every_line_of_the_manual_is_understood() {
    for line in [
        "serve",
        "--config c --spool s serve",
        "serve --spool s --listen 127.0.0.1:0 --listen [::1]:8080",
        "serve --mode offline --log-level debug",
        "--spool s online",
        "offline",
        "autodial",
        "fetch --wait",
        "fetch --plan",
        "fetch --plan --json",
        "get --plan http://a/",
        "get -r 2 --plan --json http://a/",
        "fetch --wait --json --budget 200M",
        "fetch --budget 50kB",
        "status --json",
        "get --refresh http://a/ http://b/",
        "queue --json",
        "queue --last http://a/ b",
        "monitor add http://a/",
        "monitor add --daily --at 6:30 --versions 5 http://a/ b",
        "monitor add --cron @weekly http://a/",
        "monitor add --weekly --weekdays mon --months 1-3 --hours 6,18 http://a/",
        "monitor add --images --without scripts,fonts http://a/",
        "monitor list --json",
        "monitor rm http://a/ b",
        "monitor rm --all",
        "monitor diff --from 2026-11-20T14:25:15.812Z --json http://a/",
        "cat --headers http://a/",
        "cat --at 2026-11-20 --raw http://a/",
        "history --json http://a/",
        "purge --dry-run --json",
        "pin http://a/ b",
        "pin --from bookmarks.html",
        "unpin http://a/",
        "history --restore 2026-11-20T14:25:15.812Z http://a/",
        "info --json http://a/",
        "ls",
        "ls --json http/www.example.org",
        "ls --sort size --limit 9 --type image --pages --status 2xx sites",
        "search --json --host a tea",
        "search -- -milk tea",
        "reindex --changed",
        "rm http://a/",
        "hash http://a/ b",
        "url --localhost a,b --http-port 1 --https-port 2 --localnet *.lan,!www.lan",
        "config explain http://a/",
        "config get",
        "config get --json",
        "config get options.log-level",
        "config set options.log-level debug",
        "config set options.connections-per-host -1",
        "config unset options.log-level",
        "config add --before 0 https.refuse !*://a/*",
        "config remove https.refuse *://a/*",
        "config add-rule --before 1 https *://a/* *://b/* --set intercept=false",
        "config remove-rule https 0 *://a/*",
        "config undo",
        "config undo 3",
        "config versions",
        "config check",
        "config check x.conf",
        "config reload",
        "config path",
        "config show",
        "ca show",
        "ca export --der",
        "ca install",
        "ca install --user --print",
        "ca install --dry-run --certificate ca.pem",
        "ca uninstall",
        "ca uninstall --all --print",
        "ca renew",
        "browse",
        "browse --browser firefox --profile p http://a/ -- --headless x",
        "browse -- --no-sandbox",
        "help",
        "help config set",
        "setup",
        "setup --plan --user --skip certificate --skip proxy",
        "setup --for school --user-file u --client 10.0.0.0/8 --name a --listen 10.0.0.1:80 -y",
        "setup --undo --dry-run",
        "service install --user",
        "service uninstall --user --print",
        "passwd",
        "passwd ada",
        "stop",
    ] {
        let typed = ["wwwoffle"].into_iter().chain(line.split(' '));
        assert!(Arguments::try_parse_from(typed).is_ok(), "{line}");
    }
}

/// The page that lists the features of WWWOFFLE 2.9.
const FEATURES: &str = include_str!("../../../docs/guide/from-2.9.md");

/// Reports the first word of a command that does not exist. The words are verbs, then options.
fn unknown_word(line: &str) -> Option<&str> {
    let mut command = Arguments::command();
    command.build();
    let mut words = line.split(' ').skip(1).peekable();
    let mut at = &command;
    while let Some(verb) = words.next_if(|word| !word.starts_with('-')) {
        match at.find_subcommand(verb) {
            Some(found) => at = found,
            None => return Some(verb),
        }
    }
    words.find(|word| {
        let (long, short) = (word.strip_prefix("--"), word.strip_prefix('-'));
        let is_this = |argument: &clap::Arg| {
            let is_short = |letter| short.is_some_and(|short| short == String::from(letter));
            argument.get_long().is_some_and(|name| Some(name) == long)
                || argument.get_short().is_some_and(is_short)
        };
        !at.get_arguments().any(is_this)
    })
}

#[test]
fn each_feature_of_2_9_names_existing_commands() {
    let mut count = 0;
    for row in FEATURES.lines().filter(|line| line.starts_with("| ")) {
        let columns: Vec<_> = row.split(" | ").collect();
        let [_, _, now, state] = columns[..] else { continue };
        let code = [now, state].into_iter().flat_map(|column| column.split('`').skip(1).step_by(2));
        for command in code.filter(|code| code.starts_with("wwwoffle ")) {
            count += 1;
            assert_eq!(unknown_word(command), None, "`{command}` does not exist: {row}");
        }
    }
    assert!(count > 60, "{count} commands");
    assert_eq!(unknown_word("wwwoffle ls --sort --nothing"), Some("--nothing"));
    assert_eq!(unknown_word("wwwoffle config sett"), Some("sett"));
}

#[test]
fn invalid_arguments_are_refused() {
    for line in [
        "",
        "sreve",
        "get",
        "rm",
        "hash",
        "cat",
        "cat a b",
        "serve --listen 8080",
        "serve --mode on",
        "serve --log-level loud",
        "status x",
        "search",
        "fetch --budget much",
        "fetch --budget 5Q",
        "monitor",
        "monitor add",
        "monitor add --daily --weekly http://a/",
        "monitor add --cron @daily --at 6:30 http://a/",
        "monitor add --versions -1 http://a/",
        "monitor add --without pictures http://a/",
        "monitor rm",
        "monitor rm --all http://a/",
        "config",
        "config set options.log-level",
        "config add-rule https *://a/*",
        "config remove-rule https *://a/*",
        "ca",
        "ca show --der",
        "ca uninstall --all --certificate x",
        "setup --undo --for school",
        "setup --for everyone",
        "service install",
        "service uninstall --user x",
        "passwd ada secret",
        "url --http-port 99999",
        "online --spool",
    ] {
        let typed = ["wwwoffle"].into_iter().chain(line.split_whitespace());
        assert!(Arguments::try_parse_from(typed).is_err(), "{line}");
    }
}
