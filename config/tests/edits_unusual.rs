//! Edits of unusual but valid texts: a possible edit has the intended effect and no other; an
//! impossible edit is refused.

#![expect(clippy::unwrap_used, reason = "the texts are TOML")]

use std::collections::BTreeMap;
use toml_edit::{DocumentMut, Item, Value};
use wwwoffle_config::edit::{Edit, EditError, Rule, apply};

/// Notations of a configuration, with comments in places where they are easily lost.
const TEXTS: &[&str] = &[
    "",
    "\u{feff}",
    "# only this",
    "[options]",
    "[options] # a\r\n",
    "options = {}",
    "options = { log-level = 'warn' } # a\n[tunnel]",
    "options = { log-level = 'warn', dns-timeout = '1m' } # a\n",
    "options.log-level = 'warn' # a\n\"tunnel\".\"ports\" = [443] # b\n",
    "options.log-level = 'warn'\n[https]\n# a\nrefuse = []\n",
    "'options'.'log-level' = 'warn'\noptions.\"dns-timeout\" = '1m'",
    "[\"options\"]\n\"log-level\" = 'warn' # a\n'dns-timeout'='1m'\n[ 'tunnel' ] # b\nports = [ 443 ]\n",
    "[options]\nlog-level = \"\"\"warn\"\"\" # a\n[tunnel]\nports = ['''1-2''', \"\"\"22\"\"\"] # b, c\n",
    "[options]\nlog-level = \"\"\"\\\n  warn\\\n  \"\"\" # a\ndns-timeout = '1m'\n",
    // Texts that look like headers and comments, but are not.
    "[startup]\nspool-dir = \"\"\"\n[options]\nlog-level = 'debug'\n# no\n[tunnel]\"\"\"\n[options]\n",
    "[startup]\nspool-dir = '''\n# no'''\n[options]\nlog-level = 'warn'",
    "[startup]\nspool-dir = '''\n# no'''\n\n# a\n[[https.for]]\nurl = ['''\n# no''']\n[options]\n",
    "[options]\nspool-dir = '''\n#log-level = 'x'\n'''\n# a\n",
    "[startup]\nspool-dir = \"# no, 'no'\" # a \"\"\" '''\n[options] # b \"\n#log-level = 'warn' # c\n",
    "[startup]\nspool-dir = \"a\\\"# no\" # a\n[tunnel]\nports = [ # b\n  # c ]\n 443, \"1-2\" # d, e\n , '22' # f\n ]\n",
    "[tunnel]\nports = [\n443\n, ] # a\n[options]",
    "[tunnel]\nports = [\n\n443\n,\n\n# a\n]",
    "[tunnel]\nports = [443,22,\"1-2\",] # a\n",
    "[tunnel]\nports = [# a\n]\n",
    "[tunnel]\nports = [# a\n443]# b",
    "[tunnel]\nports = [443, # a\n22, # b\n] # c\n# d",
    "[tunnel]\nports = [ ] # a",
    "tunnel = { ports = [443, # a\n 22] }\n",
    "tunnel = { x = [ 1, # a\n], ports = [443, # b\n 22, # c\n ], y = 1 }\n",
    "tunnel = { x = \"\"\"\n# no\n\"\"\", ports = [443, # a\n 22] }\n",
    "[https]\nrefuse = [{ file = 'a,b' }, '*://x/*#'] # a\n[[https.for]] # b\nurl = 'u' # c\nintercept = true # d\n\n# e\n\n[[https.for]]\nurl = [\n'v', # f\n]\n",
    "[[https.for]]\nurl = 'u'\n[[ \"https\".for ]]\n'url' = 'v'\nintercept = false\n[https]\n# a\n[options]\n",
    "https.for = [{ url = 'u' }] # a\n",
    "[https]\nfor = [{ url = 'u', intercept = true }, { url = 'v' }] # a\n",
    "[[https.for]]\nurl = 'u' # a\n[options] # b\n[[https.for]] # c\nurl = 'v' # d\n# e",
    "[options] # a\n[https] # b\n[tunnel] # c\n[[https.for]] # d\nurl = 'u'\n",
    "   [options]\n\tlog-level\t=\t'warn'\t# a\n\n\n\n\t# b\n\t[tunnel]\n",
    "[options]\n# a\n\n# b\n[tunnel]\n# c\n\n# d\n",
    "[tunnel]\nports = [443]\n#ports = [\n#  443,\n#]\n# a\n[options]\n#log-level = 'x' # b\n#log-level = 'y'\n",
    "x = 1\n[unknown.table]\noptions.log-level = 1 # a\n[options]\nunknown = { log-level = 2 } # b\n",
    "[options.unknown]\nlog-level = 1 # a\n",
    "[options]\nlog-level.x = 1 # a\n",
    "[[options]]\nlog-level = 'warn' # a\n",
    "options = 7 # a\ntunnel = []\nhttps = 'x'\n",
];

fn edits() -> Vec<Edit> {
    let mut edits = Vec::new();
    let owned = |text: &str| text.to_owned();
    for (section, key, value) in [
        ("options", "log-level", "debug"),
        ("options", "dns-timeout", "5s"),
        ("options", "connect-timeout", "7s"),
        ("startup", "spool-dir", "/a # \"b\" 'c'"),
        ("tunnel", "ports", "[1, # inside\n 2]"),
        ("https", "intercept", "false"),
    ] {
        let (section, key) = (owned(section), owned(key));
        edits.push(Edit::Set { section: section.clone(), key: key.clone(), value: owned(value) });
        edits.push(Edit::Unset { section, key });
    }
    for (section, key, items) in [
        ("tunnel", "ports", &["443", "22", "1-2", "9"][..]),
        ("https", "refuse", &["*://x/*#", "{ file = 'a,b' }", "*://new/*"]),
    ] {
        for item in items {
            let (section, key, item) = (owned(section), owned(key), owned(item));
            edits.push(Edit::Remove {
                section: section.clone(),
                key: key.clone(),
                item: item.clone(),
            });
            for before in [None, Some(0), Some(1), Some(9)] {
                let (section, key, item) = (section.clone(), key.clone(), item.clone());
                edits.push(Edit::Add { section, key, item, before });
            }
        }
    }
    let section = owned("https");
    let rule = |url: &str, options: &[(&str, &str)]| Rule {
        urls: vec![owned(url)],
        options: options.iter().map(|(key, value)| (owned(key), owned(value))).collect(),
    };
    for before in [None, Some(0), Some(1)] {
        let rule = rule("new", &[("intercept", "false")]);
        let (url, options) = (rule.urls, rule.options);
        edits.push(Edit::AddRule { section: section.clone(), url, options, before });
    }
    for (index, url) in [(0, "u"), (0, "\n# no"), (1, "v")] {
        let (section, urls) = (section.clone(), vec![owned(url)]);
        edits.push(Edit::RemoveRule { section: section.clone(), index, url: urls.clone() });
        for rule in [rule(url, &[]), rule("w", &[("intercept", "false"), ("refuse", "['r']")])] {
            let (section, was) = (section.clone(), urls.clone());
            let (url, options) = (rule.urls, rule.options);
            edits.push(Edit::ReplaceRule { section, index, was, url, options });
        }
    }
    edits
}

/// The meaning of a text: each value with its path, independent of the notation.
fn says(text: &str) -> BTreeMap<String, String> {
    fn plain(value: &Value) -> String {
        match value {
            Value::String(text) => format!("{:?}", text.value()),
            Value::Array(array) => {
                let all: Vec<_> = array.iter().map(plain).collect();
                format!("[{}]", all.join(","))
            }
            Value::InlineTable(table) => {
                let all = table.iter().map(|(key, one)| format!("{key}={}", plain(one)));
                format!("{{{}}}", all.collect::<Vec<_>>().join(","))
            }
            other => other.clone().decorated("", "").to_string(),
        }
    }
    fn walk(path: &str, item: &Item, told: &mut BTreeMap<String, String>) {
        if let Some(tables) = item.as_array_of_tables() {
            for (number, table) in tables.iter().enumerate() {
                for (key, item) in table {
                    walk(&format!("{path}[{number}].{key}"), item, told);
                }
            }
        } else if let Some(array) = item.as_array().filter(|_| path == "https.for") {
            for (number, table) in array.iter().filter_map(Value::as_inline_table).enumerate() {
                for (key, one) in table {
                    told.insert(format!("{path}[{number}].{key}"), plain(one));
                }
            }
        } else if let Some(table) = item.as_table_like().filter(|_| path.matches('.').count() < 2) {
            for (key, item) in table.iter() {
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                walk(&path, item, told);
            }
        } else if let Some(one) = item.as_value() {
            told.insert(path.to_owned(), plain(one));
        }
    }
    let document: DocumentMut = text.trim_start_matches('\u{feff}').parse().unwrap();
    let mut told = BTreeMap::new();
    walk("", document.as_item(), &mut told);
    told
}

/// The comments of a text, found by scanning it from its first byte.
fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let long = [r#"""""#, "'''"].into_iter().find(|quote| rest.starts_with(quote));
        if first == '#' {
            let end = rest.find('\n').unwrap_or(rest.len());
            found.push(rest[..end].trim_end().to_owned());
            rest = &rest[end..];
        } else if let Some(quote) = long {
            let mut at = 3;
            while !rest[at..].starts_with(quote) {
                at += if first == '"' && rest[at..].starts_with('\\') { 2 } else { 1 };
            }
            at += 3;
            while rest[at..].starts_with(first) {
                at += 1;
            }
            rest = &rest[at..];
        } else if first == '"' || first == '\'' {
            let mut at = 1;
            while !rest[at..].starts_with(first) {
                at += if first == '"' && rest[at..].starts_with('\\') { 2 } else { 1 };
            }
            rest = &rest[at + 1..];
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    found.sort();
    found
}

/// The path of the edited value.
fn about(edit: &Edit) -> String {
    match edit {
        Edit::Set { section, key, .. }
        | Edit::Unset { section, key }
        | Edit::Add { section, key, .. }
        | Edit::Remove { section, key, .. } => format!("{section}.{key}"),
        Edit::AddRule { section, .. }
        | Edit::RemoveRule { section, .. }
        | Edit::ReplaceRule { section, .. } => format!("{section}.for["),
    }
}

#[test]
#[ignore = "slow"]
fn edit_changes_only_the_edited_value() {
    let (mut wrong, mut done, mut refused) = (Vec::new(), 0, 0);
    let crlf: Vec<String> =
        TEXTS.iter().map(|text| text.replace("\r\n", "\n").replace('\n', "\r\n")).collect();
    for text in TEXTS.iter().copied().chain(crlf.iter().map(String::as_str)) {
        let (before, old_comments) = (says(text), comments(text));
        for edit in edits() {
            let mut tell = |what: &str, new: &str| {
                wrong.push(format!("{what}\n{edit:?}\n--- of\n{text}\n--- made\n{new}\n"));
            };
            let edited = match apply(text, &edit) {
                Ok(edited) => edited,
                Err(EditError::NotToml(error)) => {
                    tell(&error, "");
                    continue;
                }
                Err(_) => {
                    refused += 1;
                    continue;
                }
            };
            done += 1;
            let path = about(&edit);
            if edited.text.trim_start_matches('\u{feff}').parse::<DocumentMut>().is_err() {
                tell("it is not TOML any more", &edited.text);
                continue;
            }
            let after = says(&edited.text);
            let others = |says: &BTreeMap<String, String>| {
                let others = says.iter().filter(|(at, _)| !at.starts_with(&path));
                others.map(|(at, value)| format!("{at} {value}")).collect::<Vec<_>>()
            };
            if others(&before) != others(&after) {
                tell("something else has changed", &edited.text);
            }
            let mut new_comments = comments(&edited.text);
            for comment in &old_comments {
                match new_comments.iter().position(|new| new == comment) {
                    Some(at) => drop(new_comments.remove(at)),
                    None => tell(&format!("the comment {comment} is lost"), &edited.text),
                }
            }
            if !new_comments.is_empty() && new_comments != ["# inside"] {
                tell(&format!("comments out of nowhere: {new_comments:?}"), &edited.text);
            }
            if let Err(what) = meant(&edit, &before, &after) {
                tell(&what, &edited.text);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {done}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
    assert!(done > 2 * refused, "{done} done, {refused} refused");
}

/// Checks that the edited option has the intended value afterwards. The error describes the
/// difference.
fn meant(
    edit: &Edit,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Result<(), String> {
    let elements = |says: &BTreeMap<String, String>, path: &str| {
        let text = says.get(path).cloned().unwrap_or_default();
        let array: Option<Value> = text.parse().ok();
        let all = array.as_ref().and_then(Value::as_array).map(|all| {
            all.iter().map(|one| one.clone().decorated("", "").to_string()).collect::<Vec<_>>()
        });
        all.unwrap_or_default()
    };
    let path = about(edit);
    let same = |got: Option<&String>, want: Option<&str>| {
        (got.map(String::as_str) == want).then_some(()).ok_or(format!("{got:?}, not {want:?}"))
    };
    match edit {
        Edit::Set { value, .. } => {
            let said = match value.parse::<Value>() {
                Ok(_) => says(&format!("x = {value}")).remove("x").unwrap(),
                Err(_) => format!("{value:?}"),
            };
            same(after.get(&path), Some(&said))
        }
        Edit::Unset { .. } => same(after.get(&path), None),
        Edit::Add { item, .. } | Edit::Remove { item, .. } if before.contains_key(&path) => {
            let place = if let Edit::Add { before, .. } = edit { Some(*before) } else { None };
            let (old, new) = (elements(before, &path), elements(after, &path));
            let is_item = |one: &String| {
                let said = one.trim_matches('"').replace(' ', "");
                said == item.replace(' ', "").replace('\'', "\"")
            };
            let mut want = old.clone();
            match (place, old.iter().position(is_item)) {
                (Some(at), None) => {
                    let at = at.unwrap_or(old.len()).min(old.len());
                    let added = new.get(at).cloned().unwrap_or_default();
                    if !is_item(&added) {
                        return Err(format!("{item} is not number {at} of {new:?}"));
                    }
                    want.insert(at, added);
                }
                (None, Some(at)) => drop(want.remove(at)),
                (Some(_), Some(_)) | (None, None) => {}
            }
            (want == new).then_some(()).ok_or(format!("{new:?}, not {want:?}"))
        }
        _ => Ok(()),
    }
}
