//! Parsing of texts and files to a configuration, or to all its faults.
#![expect(clippy::disallowed_methods, reason = "the tests write the files that are read")]

use std::{fs, path::Path, time::Duration};
use wwwoffle_config::{
    Config, ConfigLookup, Durability, Environment, ListedSpec, LogLevel, UrlParts, UrlSpec,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("test.conf")).map_err(|faults| faults.to_string())
}

/// The cases of `faults.txt`: number of the first line, text, and expected faults.
fn cases() -> Vec<(usize, String, Vec<String>)> {
    let mut cases = Vec::new();
    let (mut begun, mut text, mut told) = (0, String::new(), Vec::new());
    for (number, line) in (1..).zip(include_str!("faults.txt").lines().chain(["    "])) {
        if let Some(line) = line.strip_prefix("    ") {
            if !told.is_empty() {
                cases.push((begun, std::mem::take(&mut text), std::mem::take(&mut told)));
            }
            begun = if text.is_empty() { number } else { begun };
            text += line;
            text += "\n";
        } else if !line.is_empty() && !line.starts_with('#') {
            told.push(line.to_owned());
        }
    }
    cases
}

#[test]
fn all_faults_are_reported_with_their_line() {
    let mut wrong = Vec::new();
    for (number, text, want) in cases() {
        let got = parse(&text).map_or_else(|told| told, |_| "nothing".to_owned());
        if got != want.join("\n") {
            wrong.push(format!("faults.txt:{number}: {text}  got\n{got}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_option_is_read_from_the_text() {
    let config = parse(
        r#"
        [startup]
        listen = ["[::1]:3128", "127.0.0.1:0"]
        spool-dir = "/spool"
        durability = "each"
        max-connections = 7
        [options]
        log-level = "trace"
        connect-timeout = "1s"
        dns-timeout = "2 s"
        socket-timeout = "3m"
        head-timeout = "4h"
        idle-timeout = "5d"
        connections-per-host = 1
        finish-downloads = false
        [local-host]
        names = ["proxy.lan"]
        [tunnel]
        ports = [22, "443"]
        [fetch-options]
        per-host = 2
        at-once = 3
        attempts = 4
        retry-delay = "250ms"
        [offline-options]
        noise = ["*://n.test/*"]
        shipped-noise = false
        "#,
    )
    .unwrap();
    let listen: Vec<_> = config.startup.listen.as_slice().iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["[::1]:3128", "127.0.0.1:0"]);
    let spool = config.startup.spool_dir.resolve(&Environment::default()).unwrap();
    assert_eq!(spool, Path::new("/spool"));
    assert_eq!(config.startup.durability, Durability::Each);
    assert_eq!(config.startup.max_connections.get(), 7);
    assert_eq!(config.options.log_level, LogLevel::Trace);
    for (got, want) in [
        (config.options.connect_timeout, 1),
        (config.options.dns_timeout, 2),
        (config.options.socket_timeout, 3 * 60),
        (config.options.head_timeout, 4 * 60 * 60),
        (config.options.idle_timeout, 5 * 24 * 60 * 60),
    ] {
        assert_eq!(got, Duration::from_secs(want));
    }
    assert_eq!(config.options.connections_per_host.get(), 1);
    assert!(!config.options.finish_downloads);
    assert_eq!(config.local_host.names.at(80, None).name(), "proxy.lan");
    let ports = &config.tunnel.ports;
    assert!(ports.contains(22) && ports.contains(443) && !ports.contains(8080));
    let fetch = &config.fetch_options;
    assert_eq!((fetch.per_host.get(), fetch.at_once.get(), fetch.attempts.get()), (2, 3, 4));
    assert_eq!(fetch.retry_delay, Duration::from_millis(250));
    assert!(!config.offline_options.shipped_noise);
    let specs: Vec<_> = config.offline_options.noise.iter().map(|one| one.spec().clone()).collect();
    assert_eq!(specs, [UrlSpec::parse("*://n.test/*").unwrap()]);
}

#[test]
fn an_empty_file_and_a_byte_order_mark_change_nothing() {
    for text in
        ["", "\n# only a comment\n", "\u{feff}[startup]\n", "[startup]\r\n\r\n[options]\r\n"]
    {
        assert_eq!(parse(text).unwrap(), Config::default(), "{text:?}");
    }
}

#[test]
fn at_most_a_hundred_faults_are_reported() {
    let text: String =
        (0..150).map(|number| ["unknown", &number.to_string(), " = 1\n"].concat()).collect();
    let faults = Config::parse(&text, Path::new("test.conf")).unwrap_err();
    assert_eq!(faults.as_slice().len(), 100);
    assert_eq!(faults.as_slice()[99].line(), Some(100));
    assert!(faults.to_string().ends_with("\n50 more faults are not shown"));
}

#[test]
fn lists_are_found_beside_the_configuration_and_name_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("wwwoffle.conf");
    fs::write(
        &file,
        "[offline-options]\nnoise = [\n\"!*://a.test/keep\",\n{ file = \"more.txt\" },\n]",
    )
    .unwrap();
    let list = dir.path().join("more.txt");
    fs::write(&list, "\u{feff}# of mine\n\n*://a.test/*  # all of it\n#*://b.test/*\n").unwrap();
    let config = Config::load(&file).unwrap();
    for (url, place) in [
        ("http://a.test/", Some(format!("{}:3", list.display()))),
        ("http://a.test/keep", Some(format!("{}:3", file.display()))),
        ("http://b.test/", None),
    ] {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let decided = config.offline_options.noise.decide(&UrlParts::of(&url));
        assert_eq!(decided.map(|listed| listed.location().to_string()), place, "{url}");
    }

    fs::write(&list, "*://a.test/*\na.test\n").unwrap();
    fs::write(
        &file,
        "[offline-options]\nnoise = [{ file = \"more.txt\" }, { file = \"none.txt\" }]",
    )
    .unwrap();
    let (file, list) = (file.display(), list.display());
    let told = Config::load(Path::new(&file.to_string())).unwrap_err().to_string();
    let missing = dir.path().join("none.txt");
    assert_eq!(
        told,
        format!(
            "{file}:2: \"noise\" takes URL-SPECIFICATIONs, such as \"*://*.example.org/*\", and lists \
             of them, {{ file = \"list.txt\" }}, not {{ file = \"none.txt\" }}: {}: there is no \
             such file\n{list}:2: expected one URL-SPECIFICATION on each line, not \"a.test\": it has no \"://\"; for all pages of a host write \"*://HOST/*\"",
            missing.display()
        )
    );
}

#[test]
fn an_unreadable_file_is_reported_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let large = dir.path().join("large");
    fs::write(&large, "#".repeat((1 << 20) + 1)).unwrap();
    let binary = dir.path().join("binary");
    fs::write(&binary, b"a\nb\xff\n").unwrap();
    for (file, want) in [
        (dir.path().join("none"), "there is no such file"),
        (dir.path().join("binary/none"), "there is no such file"),
        (dir.path().to_owned(), "not a regular file"),
        (large, "larger than the limit of 1048576 bytes"),
        (binary, "not UTF-8: the first invalid byte is in line 2"),
    ] {
        let faults = Config::load(&file).unwrap_err();
        assert_eq!(faults.to_string(), format!("{}: {want}", file.display()));
        assert!(faults.as_slice()[0].is_unreadable() && faults.as_slice()[0].line().is_none());
    }
}

#[test]
fn the_first_existing_file_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let found = |lookup: &ConfigLookup| Config::find(lookup).map(|(_, file)| file);
    let both = ConfigLookup::FirstOf(vec![at("a"), at("b")]);
    assert_eq!(found(&both).unwrap(), None);
    assert_eq!(Config::find(&both).unwrap().0, Config::default());
    fs::write(at("b"), "").unwrap();
    assert_eq!(found(&both).unwrap(), Some(at("b")));
    fs::create_dir(at("a")).unwrap();
    assert!(found(&both).is_err(), "what is there and is no file was meant to be used");
    assert_eq!(found(&ConfigLookup::Named(at("b"))).unwrap(), Some(at("b")));
    assert!(found(&ConfigLookup::Named(at("c"))).is_err(), "what is named has to be there");
}

#[test]
fn included_options_follow_those_of_the_section() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
    write(
        "wwwoffle.conf",
        "[dont-get]\ninclude = [\"a.toml\", \"sub/b.toml\"]\nget-recursive = false\n\
         [[dont-get.for]]\nurl = \"*://own.test/*\"\nreplacement = \"/own\"\n\
         [options]\nsocket-timeout = \"5m\"\n",
    );
    write(
        "a.toml",
        "get-recursive = true\nlocation-error = true\n\
         [[for]]\nurl = \"*://*.test/*\"\nreplacement = \"/a\"\n",
    );
    fs::create_dir(at("sub")).unwrap();
    write("sub/b.toml", "include = \"c.toml\"\nurls = [{ file = \"list.txt\" }]\n");
    write("sub/c.toml", "replacement = \"/c\"\n");
    write("sub/list.txt", "*://ads.test/*\n");
    let config = Config::load(&at("wwwoffle.conf")).unwrap();
    assert!(!config.dont_get.get_recursive.plain(), "what the section says itself comes first");
    assert!(config.dont_get.location_error.plain());
    for (url, replacement) in
        [("http://own.test/", "/own"), ("http://other.test/", "/a"), ("http://a.example/", "/c")]
    {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let got = config.dont_get.replacement.of(&UrlParts::of(&url));
        assert_eq!(got.url(), Some(replacement), "{url}");
    }
    let origin = |key| config.origin_of("dont-get", key).map(ToString::to_string);
    assert_eq!(origin("replacement"), Some(format!("{}:1", at("sub/c.toml").display())));
    let url = CanonicalUrl::parse("http://ads.test/", &LocalHost::default()).unwrap();
    let listed = config.dont_get.urls.matches(&url).unwrap();
    assert_eq!(listed.location().to_string(), format!("{}:1", at("sub/list.txt").display()));
}

#[test]
fn faults_of_included_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
    write(
        "w.conf",
        "[dont-get]\ninclude = [\"a\", \"none\", 3, \"bad\", \"loop\"]\nurl = 1\n\
         [dont-cache]\ninclude = \"deep0\"\n[purge.include]\na = 1\n",
    );
    write("a", "get-recursiv = true\n[[for]]\nurl = 1\nlocation-error = 2\n[dont-get]\n");
    write("bad", "\nurls = [\n");
    write("loop", "include = \"loop2\"\n");
    write("loop2", "include = \"loop\"\n");
    for depth in 0..9 {
        write(&format!("deep{depth}"), &format!("include = \"deep{}\"\n", depth + 1));
    }
    write("deep9", "");
    let told = Config::load(&at("w.conf")).unwrap_err().to_string();
    let want = [
        "w.conf:2: \"include\" takes the name of a file or an array of names, such as \"more.toml\", not 3",
        "w.conf:2: \"none\" cannot be included: DIR/none: there is no such file",
        "w.conf:3: [dont-get] has no option \"url\"; the nearest is \"urls\"",
        "w.conf:6: \"include\" takes a value (file names), not a section",
        "a:1: [dont-get] has no option \"get-recursiv\"; the nearest is \"get-recursive\"",
        "a:3: \"url\" takes a URL-SPECIFICATION or an array of them, such as \"*://*.example.org/*\", not 1",
        "a:4: \"location-error\" takes true or false, not 2",
        "a:5: [dont-get] has no option \"dont-get\"",
        "bad:2: \"urls = [\" is not TOML: unclosed array, expected `]`",
        "deep7:1: \"deep8\" cannot be included: includes are nested more than 8 deep",
        "loop2:1: \"loop\" cannot be included: it would include itself",
    ];
    let want: Vec<String> = want
        .iter()
        .map(|line| {
            format!("{}/{line}", dir.path().display())
                .replace("DIR", &dir.path().display().to_string())
        })
        .collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), want);
}

#[test]
fn every_option_has_an_effect() {
    let later = |section: &&wwwoffle_config::schema::Section| {
        section.options.iter().any(|option| option.effect == wwwoffle_config::schema::Effect::Later)
    };
    assert_eq!(
        wwwoffle_config::schema::SECTIONS.iter().find(later).map(|section| section.name),
        None
    );
    let text = "[mime-types]\ndefault = \"text/plain\"\n[modify-html]\ndisable-script = true\n";
    assert_eq!(parse(text).unwrap().without_effect().len(), 0);
}

#[test]
fn the_first_matching_rule_that_sets_the_option_decides() {
    let text = r#"
        [offline-options]
        confirm-requests = true
        [[offline-options.for]]
        url = ["!*://www.a.test/keep/*", "*://*.a.test/*"]
        dont-request = true
        [[offline-options.for]]
        url = "*://*.test/*"
        confirm-requests = false
        [[offline-options.for]]
        url = ["*://www.a.test/*", "http://b.test:81"]
        dont-request = false
        confirm-requests = true
        [[offline-options.for]]
        url = "*://*/*/secret/*"
        dont-request = true
    "#;
    let config = parse(text).unwrap();
    for (url, dont_request, confirm) in [
        ("http://www.a.test/", (true, Some(5)), (false, Some(8))),
        ("http://www.a.test/keep/x", (false, Some(11)), (false, Some(8))),
        ("http://b.test:81/", (false, Some(11)), (false, Some(8))),
        ("http://b.test/", (false, None), (false, Some(8))),
        ("http://b.test/x/secret/y", (true, Some(15)), (false, Some(8))),
        ("http://b.example/secret/", (true, Some(15)), (true, None)),
    ] {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let parts = UrlParts::of(&url);
        let line = |(value, listed): (&bool, Option<&ListedSpec>)| {
            (*value, listed.map(|listed| listed.location().line()))
        };
        assert_eq!(
            line(config.offline_options.dont_request.decided(&parts)),
            dont_request,
            "{url}"
        );
        assert_eq!(line(config.offline_options.confirm_requests.decided(&parts)), confirm, "{url}");
    }
}

#[test]
fn hosts_files_are_valid_lists() {
    let dir = tempfile::tempdir().unwrap();
    let (file, hosts) = (dir.path().join("w.conf"), dir.path().join("hosts"));
    fs::write(&file, "[dont-get]\nurls = [\"!*://ads.test/ok\", { hosts = \"hosts\" }]\n").unwrap();
    let text = "# ads\n127.0.0.1 localhost localhost.localdomain\n::1 ip6-localhost\n\n\
                0.0.0.0 0.0.0.0\n0.0.0.0 ads.test www.ads.test # both\n:: Track.test\n";
    fs::write(&hosts, text).unwrap();
    let config = Config::load(&file).unwrap();
    for (url, line) in [
        ("http://ads.test/x", Some(6)),
        ("https://www.ads.test:8443/", Some(6)),
        ("http://track.test/", Some(7)),
        ("http://ads.test/ok", None),
        ("http://sub.ads.test/", None),
        ("http://localhost.localdomain/", None),
        ("http://0.0.0.0/", None),
    ] {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let listed = config.dont_get.urls.matches(&url);
        assert_eq!(listed.map(|listed| listed.location().line()), line, "{url}");
    }
    fs::write(&hosts, "0.0.0.0 a.test\nads.test\n0.0.0.0 b%.test\n").unwrap();
    let told = Config::load(&file).unwrap_err().to_string();
    let want = format!(
        "{0}:2: expected an address and names on each line, not \"ads.test\"\n{0}:3: expected one URL-SPECIFICATION on each line, not \"b%.test\": its host is invalid; with characters beyond ASCII it may have \"*.\" in front and no other \"*\"",
        hosts.display()
    );
    assert_eq!(told, want);
}
