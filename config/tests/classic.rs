//! Configurations of 2.9 and their converted form. `UPDATE=1` rewrites the expected files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test fails by panicking, and reads its own files"
)]

use proptest::prelude::*;
use std::{
    fs,
    path::{Path, PathBuf},
};
use wwwoffle_config::{Config, ImportedConfig};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/classic").join(name)
}

/// The converted text, followed by the lines that were left out.
fn imported(name: &str) -> String {
    let imported = ImportedConfig::load(&data(name)).unwrap();
    if let Err(faults) = Config::parse(imported.text(), Path::new("wwwoffle.conf")) {
        panic!("{name}: {faults}\n{}", imported.text());
    }
    let left_out = imported.left_out().iter().map(|left_out| {
        let told = left_out.to_string();
        let at = told.find(".conf:").and_then(|end| told[..end].rfind('/'));
        format!("{}\n", &told[at.map_or(0, |at| at + 1)..])
    });
    format!("{}\n=== left out ===\n{}", imported.text(), left_out.collect::<String>())
}

#[test]
fn old_configuration_files_are_converted() {
    for (given, want) in [("template.conf", "template.want"), ("hard.conf", "hard.want")] {
        let got = imported(given);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(data(want), &got).unwrap();
        }
        let want = fs::read_to_string(data(want)).unwrap_or_default();
        assert!(got == want, "{given}: UPDATE=1 cargo test -p wwwoffle-config\n{got}");
    }
}

#[test]
#[ignore = "slow"]
fn https_stays_enabled_after_importing_the_stock_file() {
    let imported = ImportedConfig::load(&data("template.conf")).unwrap();
    let config = Config::parse(imported.text(), Path::new("wwwoffle.conf")).unwrap();
    assert!(config.https.intercept && config.https.tunnel.is_empty());
    for line in ["enable-caching", "allow-tunnel    = *:443"] {
        let said = |left: &wwwoffle_config::SkippedLine| left.to_string().contains(line);
        assert!(imported.left_out().iter().any(said), "{line}");
    }
}

#[test]
#[ignore = "slow"]
fn no_secret_is_imported() {
    for given in ["template.conf", "hard.conf"] {
        let got = imported(given);
        for secret in ["lovelace", "builder"] {
            assert!(!got.contains(secret), "{given}: {secret}");
        }
    }
}

/// Valid and invalid lines of files of 2.9.
fn line() -> impl Strategy<Value = String> {
    let section = proptest::sample::select(vec![
        "StartUp",
        "Options",
        "OnlineOptions",
        "DontGet",
        "CensorHeader",
        "Alias",
        "Purge",
        "MIMETypes",
        "LocalHost",
        "AllowedConnectHosts",
        "SSLOptions",
        "Proxy",
        "ModifyHTML",
    ]);
    let key = proptest::sample::select(vec![
        "http-port",
        "bind-ipv4",
        "log-level",
        "request-changed",
        "replacement",
        "Cookie",
        "age",
        ".html",
        "default",
        "localhost",
        "allow-tunnel",
        "proxy",
        "anchor-cached-begin",
    ]);
    let value = prop_oneof!["[ -~]{0,12}", "yes|no|none|-1|0|10m|4w|80", any::<String>()];
    let spec = prop_oneof!["", "<\\*://[a-z*.]{1,8}/[ -~]{0,6}> ", "<[ -~]{0,9}>"];
    prop_oneof![
        section.prop_map(|name| format!("{name}\n{{")),
        Just("}".to_owned()),
        Just("[\nx.conf\n]".to_owned()),
        (spec, key, value).prop_map(|(spec, key, value)| format!("{spec}{key} = {value}")),
        "[!~]{0,2}(http|\\*)://[a-z*.:0-9]{0,9}(/[ -~]{0,8})?",
        any::<String>(),
    ]
}

proptest! {
    // Only a few cases, because the full parser reads each line separately.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[ignore = "slow"]
    fn any_file_is_converted_to_a_valid_one(lines in proptest::collection::vec(line(), 0..20)) {
        let directory = tempfile::tempdir().unwrap();
        let old = directory.path().join("old.conf");
        fs::write(&old, lines.join("\n")).unwrap();
        let imported = ImportedConfig::load(&old).unwrap();
        let read = Config::parse(imported.text(), Path::new("wwwoffle.conf"));
        prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), imported.text());
    }
}
