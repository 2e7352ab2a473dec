//! The manual pages and the completions of `packaging/`, read by the programs that show them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::daemon::{Ran, run};
use crate::harness::files;
use crate::harness::tools::{plain, program, tool};

fn packaging(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(path)
}

/// Runs a script with a shell. `$1` is the directory of the completions.
fn shell(name: &str, arguments: &[&str], script: &str) -> Ran {
    let mut command = plain(Command::new(program(&[name])));
    command.args(arguments).args(["-c", script, name]).arg(packaging("completions"));
    run(command, None)
}

#[test]
#[ignore = "needs groff"]
fn every_manual_page_is_formatted_without_a_warning() {
    let pages = files(&packaging("man"));
    assert!(pages.len() > 40, "{pages:?}");
    for page in pages {
        let page = page.to_str().unwrap();
        let ran = tool("groff", &["-man", "-Tutf8", "-ww", "-z", page], "");
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{page}");
    }
}

#[test]
#[ignore = "needs groff"]
fn the_pages_of_the_program_and_its_configuration_can_be_read() {
    let text = |page: &str| {
        let page = packaging("man").join(page);
        let ran =
            tool("groff", &["-man", "-Tascii", "-P-c", "-P-b", "-P-u", page.to_str().unwrap()], "");
        ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let page = text("wwwoffle.1");
    for part in [
        "wwwoffle - An offline web proxy",
        "VERBS Begin here wwwoffle-browse(1) Start a browser",
        "EXIT STATUS 0 done",
        "FILES ~/.config/wwwoffle/wwwoffle.conf the configuration of this user",
        "wwwoffle.conf(5). wwwoffle help TOPIC explains",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    let page = text("wwwoffle.conf.5");
    for part in [
        "wwwoffle.conf - configuration of the offline web proxy wwwoffle",
        "[STARTUP]",
        "listen The addresses and ports that browsers connect to.",
        "Default: [\"127.0.0.1:8080\"]",
        "[[offline-options.for]] url = [\"*://*.example.org/*\"",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    assert!(!page.contains("](") && !page.contains('`'), "a link or a quote of Markdown");
    assert!(text("wwwoffle-config-set.1").contains("wwwoffle config set"));
}

#[test]
#[ignore = "needs bash"]
fn bash_completes_verbs_and_options() {
    let script = "source \"$1/wwwoffle.bash\"
        ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _wwwoffle wwwoffle \"${@: -1}\" \"${@: -2:1}\"
            echo \"${COMPREPLY[@]}\"; }
        ask wwwoffle onl; ask wwwoffle config se; ask wwwoffle get --refr";
    let ran = shell("bash", &["--norc"], script);
    assert_eq!(ran.out, "online\nset\n--refresh\n", "{ran:?}");
}

#[test]
#[ignore = "needs fish"]
fn fish_completes_verbs_and_options() {
    let script = "source $argv[2]/wwwoffle.fish
        for line in 'wwwoffle onl' 'wwwoffle config se' 'wwwoffle get --refr'
            complete -C $line
        end";
    let ran = shell("fish", &["--no-config"], script);
    let words: Vec<_> = ran.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(words, ["online", "set", "--refresh"], "{ran:?}");
}

#[test]
#[ignore = "needs zsh"]
fn zsh_completes_verbs_and_options() {
    // zsh completes only in a terminal: a second one runs in a pseudo-terminal, where the tab is
    // typed. There, `wwwoffle` prints its arguments.
    let script = "zmodload zsh/zpty
        zpty inner zsh -f -i
        zpty -w inner \"fpath=(${(q)1} \\$fpath); autoload -U compinit; compinit -u -D\"
        zpty -w inner 'wwwoffle() { print \"<$*>\" }'
        for line in 'onl' 'config se' 'get --refr'; do
            zpty -w -n inner \"wwwoffle $line\"$'\\t'$'\\n'
        done
        zpty -w inner 'print -n \"<en\"; print \"d>\"'
        zpty -r inner seen '*<end>*'
        print -r -- \"$seen\"";
    let ran = shell("zsh", &["-f"], script);
    for want in ["<online>", "<config set>", "<get --refresh>"] {
        assert!(ran.out.contains(want), "{want} is not in {ran:?}");
    }
}
