use serde_json::{Value, json};

use super::{LONGEST_LINE, LineRead, read_line};
use crate::base::exit::ExitStatus;
use crate::cli::tests::wwwoffle;

fn ask(options: &[&str], questions: &str) -> (ExitStatus, Vec<Value>) {
    let line = [&["url"], options].concat();
    let ran = wwwoffle(&line, questions, std::path::Path::new("/nowhere"));
    assert_eq!(ran.err, "");
    (ran.status, ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn each_function_has_a_result() {
    let key = "781bc04ec9bd049cdfacaec4ae2026102118d13c79413246f0c88eeef6ebec4e";
    let table = [
        (json!({"fn": "URLDecodeGeneric", "in": "%c3%a9"}), json!("\u{c3}\u{a9}")),
        (json!({"fn": "URLEncodePath", "in": "\u{81}"}), json!("%81")),
        (json!({"fn": "SplitFormArgs", "in": "a=1&b"}), json!(["a=1", "b"])),
        (
            json!({"fn": "CanonicaliseHost", "in": "WWW.Example.ORG:81"}),
            json!("www.example.org:81"),
        ),
        (json!({"fn": "MakeHash", "in": ""}), json!("1B2M2Y8AsgTpgAmY7PhCfg")),
        (
            json!({"fn": "reference", "in": {"base": "http://a/b/c/d;p?q", "ref": "../g",
                "rules": "rfc3986"}}),
            json!("http://a/b/g"),
        ),
        (
            json!({"fn": "reference", "in": {"base": "http://a/b", "ref": "",
                "rules": "draft-fielding-02"}}),
            json!("(current document)"),
        ),
        (
            json!({"fn": "reference", "in": {"base": "http://a/b", "ref": "\\\\G\\é",
                "rules": "whatwg"}}),
            json!("http://g/%C3%A9"),
        ),
        (
            json!({"fn": "reference", "in": {"base": "http://a/b", "ref": "\\\\G\\é;x",
                "rules": "abarth-01"}}),
            json!("http://g/é;x"),
        ),
        (
            json!({"fn": "browser", "in": {"base": "http://a:81/b/c", "url": " ../é?#x "}}),
            json!({"url": "http://a:81/%C3%A9?#x", "scheme": "http", "user": "", "password": "",
                "host": "a", "port": 81, "path": "/%C3%A9", "query": "", "fragment": "x"}),
        ),
        (
            json!({"fn": "browser", "in": {"url": "http:\\\\u:p@H:80\\é?#x", "rules": "abarth-01"}}),
            json!({"url": "http://u:p@h/é#x", "scheme": "http", "user": "u", "password": "p",
                "host": "H", "port": "80", "path": "\\é", "query": "", "fragment": "x"}),
        ),
        (json!({"fn": "uri", "in": {"do": "form", "uri": "http://a/b?c"}}), json!("http://a/b?c")),
        (
            json!({"fn": "uri", "in": {"do": "form", "fields": {"scheme": "http", "userinfo": "u:p",
                "host": "[::1]", "host_kind": "ipv6", "port": "8", "rooted": true,
                "segments": ["a", "", "b"], "query": "q", "fragment": "f"}}}),
            json!("http://u:p@[::1]:8/a//b?q#f"),
        ),
        (
            json!({"fn": "uri", "in": {"do": "encode", "fields": {"scheme": "http",
                "userinfo": ["é ü", "p:"], "host": "ö", "rooted": true,
                "segments": ["a/b", {"hex": "ff"}], "query": [["q", "1&"], ["r", null]],
                "fragment": {"text": "x", "query": [["y", "ß"]]}}}}),
            json!({"scheme": "http", "userinfo": "%C3%A9%20%C3%BC:p%3A", "host": "%C3%B6",
                "host_kind": "name", "port": null, "rooted": true, "segments": ["a%2Fb", "%FF"],
                "query": "q=1%26&r", "fragment": "x?y=%C3%9F"}),
        ),
        (
            json!({"fn": "uri", "in": {"do": "parse", "uri": "http://u:p@[::1]:8/a//b?q#f"}}),
            json!({"scheme": "http", "userinfo": "u:p", "host": "[::1]", "host_kind": "ipv6",
                "port": "8", "rooted": true, "segments": ["a", "", "b"], "query": "q",
                "fragment": "f"}),
        ),
        (
            json!({"fn": "uri", "in": {"do": "decode", "relative": true,
                "uri": "%C3%A9/%ff?a=%26&b#x?y=1"}}),
            json!({"scheme": null, "userinfo": null, "host": null, "port": null, "rooted": false,
                "segments": ["é", {"hex": "ff"}], "query": [["a", "&"], ["b", null]],
                "fragment": {"text": "x", "query": [["y", "1"]]}}),
        ),
        (
            json!({"fn": "pdf", "in": "http://Example.org:80/"}),
            json!({"canonical": "http://example.org/", "id": "d0d92cdc9b30c1300fbc3c7ebd304be0"}),
        ),
        (
            json!({"fn": "pdf", "in": {"url": "../y", "base": "ftp://h:21/a/b/c"}}),
            json!({"canonical": "ftp://h/a/y", "id": "71111c47ac0ba03caf0b3b62f357cabb"}),
        ),
        (
            json!({"fn": "pdf", "in": {"url": "http://Example.org/", "content": "x"}}),
            json!({"canonical": "http://example.org/", "id": "a80947723201782a0b7e6ae76d1ceb42"}),
        ),
        (
            json!({"fn": "extract", "in": "see http://a.example/."}),
            json!([{"url": "http://a.example/", "start": 4, "end": 21, "unhyphenated": null}]),
        ),
        (
            json!({"fn": "canonical", "in": "HTTP://Example.ORG"}),
            json!({"canonical": "http://example.org/", "key": key,
                "spool_path": format!("http/example.org/78/{key}.warc")}),
        ),
    ];
    let questions: Vec<_> = table.iter().map(|(question, _)| question.to_string()).collect();
    let (status, answers) = ask(&[], &questions.join("\n"));
    for ((question, want), answer) in table.iter().zip(&answers) {
        assert_eq!(answer, &json!({ "out": want }), "{question}");
    }
    assert_eq!((status, answers.len()), (ExitStatus::Done, table.len()));
}

#[test]
fn url_records_have_all_fields_and_recognize_local_hosts() {
    let options = ["--localhost", "proxy.lan", "--http-port", "81", "--localnet", "!www.lan,*.lan"];
    let questions = [
        json!({"fn": "SplitURL", "in": "http://u:\u{c3}\u{a9}@x.lan/"}),
        json!({"fn": "LinkURL", "in": ["http://www.lan/a/b", "../c"]}),
        json!({"fn": "CreateURL", "in": ["http", "a", "/b", "c", null, null]}),
        json!({"fn": "AddPasswordURL", "in": ["http://proxy.lan:81/", "u", null]}),
    ];
    let questions = questions.map(|question| question.to_string());
    let (status, answers) = ask(&options, &questions.join("\n"));
    assert_eq!(status, ExitStatus::Done);
    let field = |line: usize, name: &str| answers[line]["out"][name].clone();
    assert!(answers.iter().all(|answer| answer["out"].as_object().unwrap().len() == 23));
    assert_eq!((field(0, "pass"), field(0, "localnet")), (json!("\u{c3}\u{a9}"), json!(true)));
    assert_eq!((field(1, "name"), field(1, "localnet")), (json!("http://www.lan/c"), json!(false)));
    assert_eq!((field(2, "args"), field(2, "port")), (json!("c"), json!(-1)));
    assert_eq!((field(3, "local"), field(3, "user")), (json!(true), json!("u")));
}

#[test]
fn an_invalid_line_does_not_affect_others() {
    let bad = [
        "",
        "no json",
        "{}",
        r#"{"fn":"URLDecodeGeneric"}"#,
        r#"{"fn":"nothing","in":""}"#,
        r#"{"fn":"URLDecodeGeneric","in":"\u0100"}"#,
        r#"{"fn":"URLDecodeGeneric","in":null}"#,
        r#"{"fn":"URLDecodeGeneric","in":["a"]}"#,
        r#"{"fn":"LinkURL","in":["a"]}"#,
        r#"{"fn":"LinkURL","in":["a",null]}"#,
        r#"{"fn":"CreateURL","in":[null,"a","/",null,null,null]}"#,
        r#"{"fn":"SplitURL","in":"http://a:99999/"}"#,
        r#"{"fn":"canonical","in":1}"#,
        r#"{"fn":"canonical","in":"http://"}"#,
        r#"{"fn":"reference","in":{"base":"","ref":"","rules":"none"}}"#,
        r#"{"fn":"uri","in":{"do":"parse","uri":"a b:"}}"#,
        r#"{"fn":"pdf","in":"relative"}"#,
        r#"{"fn":"uri","in":{"do":"form","fields":{"host":"a/b","rooted":true,"segments":[""]}}}"#,
        r#"{"fn":"uri","in":{"do":"encode","fields":{"port":"8"}}}"#,
        r#"{"fn":"uri","in":{"do":"encode","fields":{"segments":[{"hex":"f"}]}}}"#,
        r#"{"fn":"uri","in":{"do":"parse"}}"#,
        r#"{"fn":"browser","in":{"url":"x"}}"#,
        r#"{"fn":"browser","in":{"url":"x","rules":"abarth-01"}}"#,
    ];
    let good = r#"{"fn":"TrimArgs","in":"a"}"#;
    let (status, answers) = ask(&[], &format!("{}\n{good}", bad.join("\n")));
    assert_eq!((status, answers.len()), (ExitStatus::Done, bad.len() + 1));
    for (line, answer) in bad.iter().zip(&answers) {
        assert!(answer["error"].is_string(), "{line}: {answer}");
    }
    assert_eq!(answers[bad.len()], json!({"out": "a"}));
}

#[test]
fn lines_are_bounded() {
    let long = vec![b'x'; LONGEST_LINE + 1];
    let input = [b"one\n", &long[..], b"\ntwo\n", &long[1..], b"\n\nlast"].concat();
    let mut input = std::io::BufReader::with_capacity(1000, &input[..]);
    let mut line = Vec::new();
    let mut lengths = Vec::new();
    loop {
        match read_line(&mut input, &mut line).unwrap() {
            LineRead::End => break,
            LineRead::Whole => lengths.push(Some(line.len())),
            LineRead::TooLong => lengths.push(None),
        }
    }
    assert_eq!(lengths, [Some(3), None, Some(3), Some(LONGEST_LINE), Some(0), Some(4)]);
}

#[test]
fn invalid_host_names_are_a_usage_error() {
    let line = ["url", "--localhost", "a b"];
    let ran = wwwoffle(&line, "", std::path::Path::new("/nowhere"));
    assert_eq!(ran.status, ExitStatus::Usage);
    assert!(ran.err.starts_with("wwwoffle: --localhost"), "{}", ran.err);
}
