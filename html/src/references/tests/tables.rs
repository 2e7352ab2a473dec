//! One document per row.
//!
//! `document -> links`. A link is its class and its URL without `http://a.example/d/` or
//! `http://a.example`, then `nofollow` and the reason for leaving it out, if any. Links are
//! separated by ` | `; `-` means no links. `\n` in a document is a line break. The implied icon is
//! omitted.

use super::super::{BodyKind, Omission};
use super::find_in;

fn shown(kind: BodyKind, document: &str) -> String {
    let document = document.replace("\\n", "\n");
    let whole = find_in(kind, document.as_bytes(), usize::MAX);
    let bytes = find_in(kind, document.as_bytes(), 1);
    assert_eq!(whole, bytes, "{document}");
    let links = whole.links.iter().filter(|link| link.left_out != Some(Omission::Implied));
    let mut shown: Vec<String> = links
        .map(|link| {
            let url = link.url.strip_prefix("http://a.example").unwrap_or(&link.url);
            let url = url.strip_prefix("/d/").unwrap_or(url);
            let nofollow = if link.nofollow { " nofollow" } else { "" };
            let reason = link.left_out.map_or(String::new(), |reason| format!(" {reason:?}"));
            format!("{} {url}{nofollow}{reason}", link.class)
        })
        .collect();
    if let Some(title) = whole.title {
        shown.insert(0, format!("title {title}"));
    }
    if whole.refused > 0 {
        shown.push(format!("{} refused", whole.refused));
    }
    for (is, word) in [(whole.nofollow, "robots-nofollow"), (whole.noindex, "robots-noindex")] {
        shown.extend(is.then(|| word.to_owned()));
    }
    if let Some(canonical) = whole.canonical {
        let canonical = canonical.strip_prefix("http://a.example/").unwrap_or(&canonical);
        shown.push(format!("canonical /{canonical}"));
    }
    shown.extend(whole.cut.map(|cut| format!("cut {cut:?}")));
    if shown.is_empty() { "-".to_owned() } else { shown.join(" | ") }
}

fn check(name: &str, table: &str, kind: BodyKind) {
    let (mut rule, mut wrong, mut rows) = ("", Vec::new(), 0);
    for (number, row) in (1..).zip(table.lines()) {
        rule = row.strip_prefix("# ").unwrap_or(rule);
        let Some((given, want)) = row.split_once(" -> ") else { continue };
        let (got, want) = (shown(kind, given.trim()), want.trim());
        rows += 1;
        if got != want {
            wrong.push(format!(
                "{name}:{number}: {rule}\n  given {given}\n  want  {want}\n  got   {got}"
            ));
        }
    }
    assert!(rows > 0, "{name} has no rows");
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn html() {
    check("html.txt", include_str!("html.txt"), BodyKind::Html);
}

#[test]
fn css() {
    check("css.txt", include_str!("css.txt"), BodyKind::Css);
}

#[test]
fn scripts() {
    check("script.txt", include_str!("script.txt"), BodyKind::Script);
}

#[test]
fn xhtml() {
    check("xhtml.txt", include_str!("xhtml.txt"), BodyKind::Xhtml);
}

#[test]
fn svg() {
    check("svg.txt", include_str!("svg.txt"), BodyKind::Svg);
}

#[test]
fn feeds() {
    check("feed.txt", include_str!("feed.txt"), BodyKind::Feed);
}

#[test]
fn sitemaps() {
    check("sitemap.txt", include_str!("sitemap.txt"), BodyKind::Sitemap);
}

#[test]
fn manifests() {
    check("manifest.txt", include_str!("manifest.txt"), BodyKind::Manifest);
}
