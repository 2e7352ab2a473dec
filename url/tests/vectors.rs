//! Results measured with the C functions of WWWOFFLE 2.9 (`data/wwwoffle-url.jsonl`).
//!
//! Intended differences are in `vectors.differences.txt`, each with the fields that differ and the
//! reason. If the results of a listed row agree, the test fails, so that the list stays exact.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wwwoffle_url::{
    LocalHost, LocalNet, LocalScope, OldParts, OldRecord, canonicalise_host, canonicalise_name,
    fix_html_link_url, make_hash, split_form_args, trim_args, url_decode_form_args,
    url_decode_generic, url_encode_form_args, url_encode_password, url_encode_path,
    url_recode_form_args,
};

/// The configuration under which the rows were measured.
fn surroundings() -> LocalScope {
    let names = ["localhost", "127.0.0.1", "proxy.lan"];
    LocalScope {
        local_host: LocalHost::new(&names, 8080, Some(8443)).unwrap(),
        local_net: LocalNet::new(&["!www.lan", "*.lan", "192.168.*", "[fe80:*]"]),
    }
}

/// Converts the notation of the file, one character for each byte, to bytes.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    Some(value.as_str()?.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect())
}

fn text(bytes: impl AsRef<[u8]>) -> Value {
    bytes.as_ref().iter().copied().map(char::from).collect::<String>().into()
}

fn record(record: &OldRecord) -> Value {
    let (url, written) = (&record.url, &record.written);
    let hostp = [url.host_port(), url.path_and_arguments()].concat();
    json!({
        "name": url.as_str(), "file": record.file(), "hash": record.location.hash,
        "dir": record.location.dir, "link": record.link,
        "hostp": hostp,
        "pathp": url.path_and_arguments(), "proto": url.protocol(), "hostport": url.host_port(),
        "host": url.host(), "port": url.port().map_or(-1, i32::from), "path": url.path(),
        "args": url.arguments(), "user": url.user().map(text),
        "pass": record.password.as_ref().map(text), "local": url.is_local(),
        "localnet": record.is_localnet, "handled": record.is_handled,
        "defport": record.default_port, "original_name": text(&written.name),
        "original_pathp": text(&written.path_and_arguments),
        "original_path": text(&written.path),
        "original_args": written.arguments.as_ref().map(text),
    })
}

fn run(function: &str, given: &Value) -> Value {
    let around = surroundings();
    let one = || bytes(given).unwrap();
    let part = |i: usize| given.get(i).and_then(bytes);
    let refused = |error: wwwoffle_url::ParseError| json!({ "error": error.to_string() });
    let result = match function {
        "URLDecodeGeneric" => return text(url_decode_generic(&one())),
        "URLDecodeFormArgs" => return text(url_decode_form_args(&one())),
        "URLRecodeFormArgs" => return text(url_recode_form_args(&one())),
        "URLEncodePath" => return text(url_encode_path(&one())),
        "URLEncodeFormArgs" => return text(url_encode_form_args(&one())),
        "URLEncodePassword" => return text(url_encode_password(&one())),
        "SplitFormArgs" => return split_form_args(&one()).map(text).collect(),
        "TrimArgs" => return text(trim_args(&one())),
        "MakeHash" => return text(make_hash(&one())),
        "FixHTMLLinkURL" => return text(fix_html_link_url(&one())),
        "CanonicaliseName" => return text(canonicalise_name(&one())),
        "CanonicaliseHost" => return canonicalise_host(&one()).map_or_else(refused, text),
        "SplitURL" => OldRecord::split_url(&one(), &around),
        "LinkURL" => OldRecord::link_url(&part(0).unwrap(), &part(1).unwrap(), &around),
        "AddPasswordURL" => {
            let (user, pass) = (part(1), part(2));
            OldRecord::add_password_url(
                &part(0).unwrap(),
                user.as_deref(),
                pass.as_deref(),
                &around,
            )
        }
        "CreateURL" => {
            let (proto, hostport) = (part(0).unwrap(), part(1).unwrap());
            let (path, args) = (part(2).unwrap(), part(3));
            let (user, pass) = (part(4), part(5));
            let parts = OldParts {
                proto: &proto,
                hostport: &hostport,
                path: &path,
                args: args.as_deref(),
                user: user.as_deref(),
                pass: pass.as_deref(),
            };
            OldRecord::create_url(&parts, &around)
        }
        _ => panic!("the vectors have an unknown function, {function}"),
    };
    result.map_or_else(refused, |found| record(&found))
}

/// The names of the differing fields, or `out` if the results differ and are not records. Empty if
/// they are equal.
fn differing(expected: &Value, found: &Value) -> String {
    let (Some(fields), Some(ours)) = (expected.as_object(), found.as_object()) else {
        return if expected == found { String::new() } else { "out".into() };
    };
    let differ = |name: &&String| fields.get(*name) != ours.get(*name);
    let names = fields.keys().chain(ours.keys().filter(|name| !fields.contains_key(*name)));
    names.filter(differ).map(String::as_str).collect::<Vec<_>>().join(",")
}

#[test]
fn rows_agree_or_are_listed() {
    let mut listed = BTreeMap::new();
    for line in include_str!("vectors.differences.txt").lines() {
        if !line.starts_with('#') && !line.is_empty() {
            let (number, rest) = line.split_once(' ').unwrap();
            let (fields, reason) = rest.split_once(' ').unwrap();
            assert!(reason.len() > 1, "{line}: no reason");
            listed.insert(number.parse::<usize>().unwrap(), fields);
        }
    }
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(include_str!("data/wwwoffle-url.jsonl").lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let (function, given, expected) = (&row["fn"], &row["in"], &row["out"]);
        let found = run(function.as_str().unwrap(), given);
        let fields = differing(expected, &found);
        let claimed = listed.remove(&number).unwrap_or_default();
        if fields != claimed {
            faults.push(format!(
                "{number} {fields} (listed: {claimed:?}) {function} {given}\n  2.9  {expected}\n  ours {found}"
            ));
        }
    }
    assert!(faults.is_empty(), "{} rows:\n{}", faults.len(), faults.join("\n"));
    assert!(listed.is_empty(), "listed, but there are no such rows: {listed:?}");
}
