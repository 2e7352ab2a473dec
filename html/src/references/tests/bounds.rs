//! Documents that exceed the bounds.

use std::fmt::Write as _;

use wwwoffle_url::MAX_LEN;

use super::super::{
    BodyKind, Class, Finder, MAX_HELD, MAX_INNER, MAX_LINKS, References, Truncation,
};
use super::{find_in, want};

/// Parses `piece` repeated `count` times between a beginning and an end.
fn repeated(kind: BodyKind, start: &str, piece: &str, count: usize, end: &str) -> References {
    let url = "http://a.example/d/p?q".parse().unwrap();
    let mut finder = Finder::new(kind, &url, None, &want());
    finder.write(start.as_bytes());
    let many = piece.repeat((64 * 1024 / piece.len()).max(1));
    let times = count / (many.len() / piece.len());
    for _ in 0..times {
        finder.write(many.as_bytes());
    }
    finder.write(end.as_bytes());
    finder.finish()
}

fn urls(found: &References) -> Vec<&str> {
    let links = found.links.iter().filter(|link| link.left_out.is_none());
    links.map(|link| link.url.trim_start_matches("http://a.example/d/")).collect()
}

#[test]
#[ignore = "slow"]
fn unclosed_elements_do_not_end_parsing() {
    // The document has about 400,000 open elements.
    let found =
        repeated(BodyKind::Html, "<img src=a>", "<p><li class=x>word ", 200_000, "<img src=b>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let name = "x".repeat(60_000);
    let found = repeated(BodyKind::Html, "<img src=a>", &format!("<{name}>"), 200, "<img src=b>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found =
        repeated(BodyKind::Html, "<img src=a>", "<svg><math>", 100_000, "</svg><img src=b>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found =
        repeated(BodyKind::Svg, "<svg><image href='a'/>", "<g>", 100_000, "<image href='b'/>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
}

#[test]
#[ignore = "slow"]
fn a_long_page_is_read_to_its_end() {
    let found = repeated(
        BodyKind::Html,
        "<img src=a>",
        "word <b>word</b> &amp; word ",
        1_000_000,
        "<img src=b>",
    );
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found =
        repeated(BodyKind::Html, "<img src=a><!--", "word > word ", 1_000_000, "--><img src=b>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found = repeated(
        BodyKind::Html,
        "<script>",
        "var x = 'word'; ",
        500_000,
        "import('./a')</script><img src=b>",
    );
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found = repeated(BodyKind::Css, "a{b:url(a)}", "p{q:r} ", 300_000, "a{b:url(b)}");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
    let found =
        repeated(BodyKind::Feed, "<rss><link>a</link>", "<p>word</p>", 200_000, "<link>b</link>");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], None));
}

#[test]
#[ignore = "slow"]
fn inline_images_are_not_counted() {
    let found = repeated(
        BodyKind::Html,
        "<img src='data:image/png;base64,",
        "A",
        20_000_000,
        "'><img src=b>",
    );
    assert_eq!((urls(&found), found.refused, found.cut), (vec!["b"], 0, None));
    let found = repeated(BodyKind::Css, "a{b:url(data:,", "A", 10_000_000, ")}c{d:url(b)}");
    assert_eq!((urls(&found), found.cut), (vec!["b"], None));
    let found = repeated(
        BodyKind::Svg,
        "<svg><image href='data:,",
        "A",
        10_000_000,
        "'/><image href='b'/>",
    );
    assert_eq!((urls(&found), found.cut), (vec!["b"], None));
}

#[test]
fn a_url_is_limited_to_a_megabyte() {
    let base = "http://a.example/d/".len();
    for (length, is_read) in
        [(MAX_LEN - base, true), (MAX_LEN - base + 1, false), (MAX_LEN + 5, false)]
    {
        let page = format!("<a href={}>x</a><img src=b>", "a".repeat(length));
        let found = find_in(BodyKind::Html, page.as_bytes(), 10_000);
        let pages = found.links.iter().filter(|link| link.class == Class::Page).count();
        assert_eq!((pages == 1, found.refused == 0), (is_read, is_read), "{length}");
        assert_eq!(found.cut, None);
    }
}

#[test]
fn an_oversized_tag_ends_parsing() {
    let found = repeated(BodyKind::Html, "<img src=a><p ", "x='y y' ", 3_000_000, "><img src=b>");
    assert_eq!((urls(&found), found.cut), (vec!["a"], Some(Truncation::Memory)));
    let found = repeated(
        BodyKind::Feed,
        "<rss><link>a</link><p ",
        "x='y y' ",
        1_000_000,
        "><link>b</link>",
    );
    assert_eq!((urls(&found), found.cut), (vec!["a"], Some(Truncation::Memory)));
    let found = repeated(BodyKind::Css, "a{b:url(a)} p{", "x:y y;", 1_000_000, "} a{b:url(b)}");
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], Some(Truncation::Memory)));
}

#[test]
fn nested_documents_are_limited() {
    let mut page = "<img src=x>".to_owned();
    for _ in 0..8 {
        page = format!("<iframe srcdoc=\"{}\">", page.replace('&', "&amp;").replace('"', "&quot;"));
    }
    let found = find_in(BodyKind::Html, page.as_bytes(), usize::MAX);
    assert_eq!((urls(&found).len(), found.cut), (0, Some(Truncation::Nesting)));
    let found = repeated(
        BodyKind::Html,
        "",
        "<noscript><img src=a></noscript>",
        MAX_INNER + 2100,
        "<img src=b>",
    );
    assert_eq!((urls(&found), found.cut), (vec!["a", "b"], Some(Truncation::Nesting)));
    let blocks = format!("{}a:url(x){}p{{a:url(y)}}", "p{".repeat(100_000), "}".repeat(100_000));
    let found = find_in(BodyKind::Css, blocks.as_bytes(), usize::MAX);
    assert!(found.is_cut());
    let templates = format!("{}import './x.js'", "`${".repeat(100_000));
    assert!(!find_in(BodyKind::Script, templates.as_bytes(), usize::MAX).is_cut());
    let arrays = "[".repeat(MAX_HELD / 2);
    assert_eq!(
        find_in(BodyKind::Manifest, arrays.as_bytes(), 5000).cut,
        Some(Truncation::Malformed)
    );
}

#[test]
fn the_number_of_links_is_limited() {
    let mut page = String::new();
    for number in 0..MAX_LINKS + 10 {
        write!(page, "<a href={number}>").unwrap();
    }
    let found = find_in(BodyKind::Html, page.as_bytes(), 10_000);
    assert_eq!(found.links.iter().filter(|link| link.left_out.is_none()).count(), MAX_LINKS);
    assert_eq!(found.cut, Some(Truncation::Links));
}

#[test]
fn nested_entities_are_not_expanded() {
    let mut bomb = "<!DOCTYPE rss [<!ENTITY a0 'x'>".to_owned();
    for level in 1..40 {
        write!(bomb, "<!ENTITY a{level} '&a{};&a{};'>", level - 1, level - 1).unwrap();
    }
    bomb.push_str("]><rss><link>/&a39;</link><link>/b</link></rss>");
    let found = find_in(BodyKind::Feed, bomb.as_bytes(), 100);
    assert_eq!(found.links.last().unwrap().url, "http://a.example/b");
}
