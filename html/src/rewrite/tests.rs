//! One change per row: options, input, output. Every row is tested whole, and in pieces of 1 and of
//! 7 bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use wwwoffle_url::{BrowserUrl, LocalHost};

use super::gateway::Gateway;
use super::*;

const PAGE: &str = "http://site.example/dir/page?x";

/// A URL that contains `blocked`, `kept` or `queued` has this property.
struct ByName;

impl PageKnowledge for ByName {
    fn is_blocked(&self, url: &str) -> bool {
        url.contains("blocked")
    }

    fn status_of(&self, url: &str) -> UrlStatus {
        match url {
            _ if url.contains("kept") => UrlStatus::Kept,
            _ if url.contains("queued") => UrlStatus::Queued,
            _ => UrlStatus::Absent,
        }
    }
}

fn changes(words: &str) -> Changes {
    let mark = |name: &str| Mark { begin: format!("<{name}>"), end: format!("</{name}>") };
    let mut changes = Changes::default();
    for word in words.split_ascii_whitespace() {
        let cut = match word {
            "scripts" => Removal::Scripts,
            "applets" => Removal::Applets,
            "styles" => Removal::Styles,
            "blink" => Removal::Blink,
            "marquee" => Removal::Marquee,
            "flash" => Removal::Flash,
            "frames" => Removal::Frames,
            "blocked-frames" => Removal::BlockedFrames,
            "blocked-links" => Removal::BlockedLinks,
            "refresh" => Removal::Refresh,
            "own-refresh" => Removal::OwnRefresh,
            "set-cookie" => Removal::SetCookie,
            other => {
                match other {
                    "images" => changes.blocked_images = Some("/no&one.gif".to_owned()),
                    "blank" => changes.blocked_images = Some(String::new()),
                    "pixels" => changes.pixels = Some("/pixel.gif".to_owned()),
                    "marks" => {
                        let (kept, queued, absent) = (mark("k"), mark("q"), mark("n"));
                        changes.marks = Marks { kept, queued, absent };
                    }
                    "bar" => {
                        changes.bar =
                            Some(Bar { html: "<bar>".to_owned(), style: "'sha256-x'".to_owned() });
                    }
                    "chars" => changes.mends = [Repair::MsChars].into(),
                    "gateway" => {
                        let (local, onward) = (LocalHost::default(), "on".to_owned());
                        let gateway = Gateway { local, is_ours: false, onward };
                        changes.readdress = Some(Readdress::Gateway(gateway));
                    }
                    _ => panic!("{other} is nothing that can be changed"),
                }
                continue;
            }
        };
        changes.cuts.insert(cut);
    }
    changes
}

fn rewrite(changes: &Changes, content_type: &str, pieces: &[&[u8]]) -> Vec<u8> {
    let url = BrowserUrl::parse(PAGE, None).unwrap();
    let changes = Arc::new(changes.clone());
    let mut page = Rewriter::new(changes, Arc::new(ByName), url, Some(content_type));
    let mut sent: Vec<u8> = pieces.iter().flat_map(|piece| page.write(piece)).collect();
    sent.extend(page.finish());
    sent
}

#[test]
fn each_change_affects_nothing_else() {
    let (mut rule, mut wrong, mut tried) = ("", Vec::new(), BTreeSet::new());
    for (number, row) in (1..).zip(include_str!("page.txt").lines()) {
        rule = row.strip_prefix("# ").unwrap_or(rule);
        let Some((options, rest)) = row.split_once(" | ") else { continue };
        let (given, want) = rest.split_once(" -> ").unwrap_or_else(|| panic!("line {number}"));
        let want = if want == "=" { given } else { want };
        tried.extend(options.split_ascii_whitespace());
        let changes = changes(options);
        for size in [1, 7, given.len()] {
            let pieces: Vec<&[u8]> = given.as_bytes().chunks(size).collect();
            let sent = rewrite(&changes, "text/html", &pieces);
            let sent = String::from_utf8_lossy(&sent).into_owned();
            if sent != want {
                wrong.push(format!("page.txt:{number}: {rule}\n  given {given}\n  got   {sent}"));
                break;
            }
        }
        // Without changes the input is unchanged.
        assert_eq!(
            rewrite(&Changes::default(), "text/html", &[given.as_bytes()]),
            given.as_bytes()
        );
    }
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(tried.len(), 18, "each change has a row: {tried:?}");
}

#[test]
fn a_page_keeps_its_encoding() {
    let all = changes("marks bar chars");
    for (content_type, given, want) in [
        (
            "text/html; charset=iso-8859-1",
            &b"caf\xe9 \x93x\x94 <a href=/kept>\xe9</a>"[..],
            &b"caf\xe9 &quot;x&quot; <a href=/kept><k>\xe9</k></a><bar>"[..],
        ),
        (
            "text/html",
            b"<meta charset=koi8-r><a href=/queued>\xc1</a>",
            b"<meta charset=koi8-r><a href=/queued><q>\xc1</q></a><bar>",
        ),
        // A query is in the encoding of its page: %E9 and not %C3%A9.
        (
            "text/html; charset=latin1",
            b"<a href='?kept\xe9'>x</a>",
            b"<a href='?kept\xe9'><k>x</k></a><bar>",
        ),
        // The page is not parsed, because its encoding is not ASCII-compatible.
        ("text/html", b"\xff\xfe<\0a\0", b"\xff\xfe<\0a\0"),
        ("text/html; charset=iso-2022-jp", b"<a href=kept>x</a>", b"<a href=kept>x</a>"),
    ] {
        let sent = rewrite(&all, content_type, &[given]);
        assert_eq!(sent, want, "{} {}", content_type, sent.escape_ascii());
    }
}

#[test]
#[ignore = "slow"]
fn an_unparsable_page_is_forwarded_unchanged() {
    let changes = changes("scripts bar");
    // An unclosed tag, longer than the parser's memory.
    let mut given = b"<script>a()</script><p><b title='".to_vec();
    given.resize(MAX_PARSER_MEMORY + (1 << 20), b'x');
    given.extend_from_slice(b"'><script>b()</script>");
    let sent = rewrite(&changes, "text/html", &given.chunks(100_000).collect::<Vec<_>>());
    let want = given.get(b"<script>a()</script>".len()..).unwrap();
    assert!(sent == want, "{} and not {} bytes", sent.len(), want.len());
    // Elements that are never closed. New parsers continue the parsing.
    let open = b"<i>".repeat(300_000);
    let sent = rewrite(&changes, "text/html", &[&open]);
    assert!(sent.starts_with(&open), "{}", sent.len());
}

#[test]
#[ignore = "slow"]
fn the_gateway_sends_no_unparsed_text() {
    let all = changes("gateway scripts");
    let link = "<a href=\"/http/site.example/dir/x\">";
    // Encodings that are not ASCII-compatible are converted to UTF-8.
    let utf_16: Vec<u8> = "\u{feff}<a href=x>é".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content_type, given) in [
        ("text/html", &utf_16[..]),
        ("text/html; charset=utf-16le", &utf_16[2..]),
        ("text/html; charset=iso-2022-jp", b"<a href=x>\x1b$B!!"),
    ] {
        for size in [1, 3, 1000] {
            let sent = rewrite(&all, content_type, &given.chunks(size).collect::<Vec<_>>());
            let text = String::from_utf8(sent).unwrap();
            assert!(text.starts_with(&format!("\u{feff}{link}")), "{content_type}: {text}");
        }
    }
    // A tag that is longer than the parser's memory ends the output.
    let mut given = b"<a href=x><b title='".to_vec();
    given.resize(MAX_PARSER_MEMORY + (1 << 20), b'x');
    given.extend_from_slice(b"'><a href=http://out.example/>");
    let sent = rewrite(&all, "text/html", &given.chunks(100_000).collect::<Vec<_>>());
    assert_eq!(String::from_utf8(sent).unwrap(), link);
    // Unclosed elements and long names are parsed to the end.
    let open = [&b"<i>".repeat(300_000)[..], b"<a href=x>"].concat();
    assert!(rewrite(&all, "text/html", &[&open]).ends_with(link.as_bytes()));
    let name = format!("<{}>", "n".repeat(1000));
    let long = [name.repeat(9_000).as_bytes(), b"<a href=x>"].concat();
    assert!(rewrite(&all, "text/html", &[&long]).ends_with(link.as_bytes()));
    let many = format!("<p{}>text", " href=x".repeat(1000));
    assert_eq!(rewrite(&all, "text/html", &[many.as_bytes()]), b"text");
    let deep = (0..5).fold("<a href=x>".to_owned(), |page, _| {
        format!(
            "<iframe srcdoc=\"{}\"></iframe>",
            page.replace('&', "&amp;").replace('"', "&quot;")
        )
    });
    assert!(rewrite(&all, "text/html", &[deep.as_bytes()]).ends_with(b"></iframe>"));
}

#[test]
#[ignore = "slow"]
fn noscript_content_is_shown_up_to_a_limit() {
    let changes = changes("scripts");
    let long = format!("<noscript><b>{}</b></noscript>x", "y".repeat(MAX_NOSCRIPT + 1));
    let sent = rewrite(&changes, "text/html", &[long.as_bytes()]);
    assert!(sent.ends_with(b"x") && sent.len() <= MAX_NOSCRIPT, "{}", sent.len());
    // The `noscript` element contains more elements than the memory of one parser allows.
    let deep = format!("<noscript>{}</noscript>x", "<i>".repeat(300_000));
    assert!(rewrite(&changes, "text/html", &[deep.as_bytes()]).ends_with(b"x"));
}

#[test]
fn a_tag_with_many_scripts_is_removed_in_linear_time() {
    let attributes: Vec<_> = (0..10_000).map(|number| format!("on{number}=a()")).collect();
    let page = format!("<p {}>text</p>", attributes.join(" "));
    assert!(rewrite(&changes("scripts"), "text/html", &[page.as_bytes()]) == b"text");
}

proptest! {
    /// The output does not depend on how a page is split; without changes it equals the input.
    #[test]
    fn output_does_not_depend_on_chunk_boundaries(
        parts in proptest::collection::vec(prop_oneof![
            Just("<script>"), Just("</script>"), Just("<a href='/kept'>"), Just("</a>"), Just("<noscript>"),
            Just("</noscript>"), Just("<img src=blocked width=1 height=1>"), Just("<!--"), Just("-->"), Just("text &amp; "),
            Just("<base href=//other/>"), Just("<style>"), Just("</style>"), Just("<svg>"), Just("<title>"), Just("<"),
            Just("'"), Just("\u{e9}"), Just("a{b:url(c)}"), Just("<iframe src=x srcdoc='<a href=y>'>"), Just("</iframe>"), Just("</body></html>"),
        ], 0..40),
        size in 1_usize..40,
    ) {
        let text = parts.concat();
        let whole = text.as_bytes();
        let pieces: Vec<&[u8]> = whole.chunks(size).collect();
        for options in ["scripts styles frames images pixels marks bar", "scripts gateway"] {
            let all = changes(options);
            let sent = rewrite(&all, "text/html; charset=utf-8", &[whole]);
            prop_assert_eq!(&rewrite(&all, "text/html; charset=utf-8", &pieces), &sent);
            prop_assert!(String::from_utf8(sent).is_ok());
        }
        prop_assert_eq!(rewrite(&Changes::default(), "text/html", &pieces), whole);
    }
}
