use super::*;

/// A version of which everything is compared.
fn whole(html: &str) -> VersionHtml {
    VersionHtml { html: html.to_owned(), is_cut: false }
}

fn marked(old: &str, new: &str) -> String {
    plain(&mark(&whole(old), &whole(new), |_| String::new()).unwrap())
}

fn plain(html: &str) -> String {
    let html = html.replace(" class=\"wwwoffle-added\"", "");
    html.replace(" class=\"wwwoffle-removed\"", "")
}

#[test]
fn changed_words_and_pictures_are_marked_in_their_places() {
    for (old, new, want) in [
        ("<p>one two", "<p>one two", "<p>one two"),
        ("<p>one two", "<p class=x>one  two", "<p class=x>one  two"),
        ("<p>one", "<p>one <b>two three</b>", "<p>one <b><ins>two three</ins></b>"),
        ("<p>one two three", "<p>one three", "<p>one <del>two</del> three"),
        (
            "<p>It costs 1 coin.",
            "<p>It costs 2 coins.",
            "<p>It costs <del>1 coin.</del> <ins>2 coins.</ins>",
        ),
        ("<p>one<p>two<p>three", "<p>one", "<p>one<del>two<br>three</del> "),
        ("<p>a &lt;b> c", "<p>a c", "<p>a <del>&lt;b&gt;</del> c"),
        ("<p>A&amp;B", "<p>A&#38;B", "<p>A&#38;B"),
        (
            "<img src=a.png>",
            "<img src=b.png>",
            "<del><img alt=\"\" src=\"a.png\"></del> <ins><img src=b.png></ins>",
        ),
        (
            "<p>\u{4e00}\u{4e8c}",
            "<p>\u{4e00}\u{4e09}",
            "<p>\u{4e00}<del>\u{4e8c}</del> <ins>\u{4e09}</ins>",
        ),
        // Titles, scripts, styles and drawings have no marks.
        (
            "<title>a</title><script>a</script><svg><text>a</text></svg>",
            "<title>b</title><script>b</script><svg><text>b</text></svg>",
            "<title>b</title><script>b</script><svg><text>b</text></svg>",
        ),
        ("", "<p>one", "<p><ins>one</ins>"),
        ("<p>one", "", "<del>one</del> "),
    ] {
        assert_eq!(marked(old, new), want, "{old} -> {new}");
    }
}

#[test]
fn the_note_is_at_the_top_and_has_the_counts() {
    let note = |counts: MarkCounts| format!("[+{} -{}]", counts.added, counts.removed);
    for (new, want) in [
        ("<html><body id=b><p>new", "<html><body id=b>[+1 -1]<p>"),
        ("<title>t</title><p>new", "<title>t</title><p>[+1 -1]"),
        ("<title>t</title><img src=x>", "<title>t</title>[+1 -1]"),
        ("<title>t</title>", "<title>t</title>[+0 -1]"),
    ] {
        let html = mark(&whole("<p>old"), &whole(new), note).unwrap();
        assert!(html.starts_with(want), "{html}");
    }
}

#[test]
fn hostile_text_stays_text() {
    let old = "<p>&lt;script&gt;alert(1)&lt;/script&gt; \"><img src='\"><script>1</script>'>";
    let html = marked(old, "<p>x");
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(html.contains("src=\"&quot;&gt;&lt;script&gt;1&lt;/script&gt;\""), "{html}");
}

/// Beyond the cut of a page may be the words that seem to be added or removed.
#[test]
fn words_at_a_cut_have_no_marks() {
    for (old, old_is_cut, new, new_is_cut, want) in [
        ("a b c d e x", false, "a b c d e y", false, "a b c d e <del>x</del> <ins>y</ins>"),
        ("a b c d e x", true, "a b c d e y", false, "a b c d e <del>x</del> y"),
        ("a b c d e x", false, "a b c d e y", true, "a b c d e <ins>y</ins>"),
        ("a b c d e x", true, "a b c d e y", true, "a b c d e y"),
        // The new page has more at its beginning, so the end of the old one is beyond its cut.
        ("a b c d e f g", true, "1 2 a b c d e", true, "<ins>1 2</ins> a b c d e"),
        ("1 2 a b c d e", true, "a b c d e f g", true, "<del>1 2</del> a b c d e f g"),
        // A single equal word at the cut says nothing.
        ("a b c d e x z", true, "a b c d e y z", true, "a b c d e y z"),
        ("a", true, "b", true, "b"),
    ] {
        let version = |html: &str, is_cut| VersionHtml { html: html.to_owned(), is_cut };
        let mut counts = MarkCounts::default();
        let html = mark(&version(old, old_is_cut), &version(new, new_is_cut), |counted| {
            counts = counted;
            String::new()
        });
        let html = html.unwrap();
        assert_eq!(plain(&html.replace(STOP, "")), want, "{old} -> {new}");
        assert_eq!(counts.is_cut, old_is_cut || new_is_cut);
        assert_eq!(html.matches(STOP).count(), usize::from(counts.is_cut), "{html}");
        assert!(
            !counts.is_cut
                || !old.starts_with("a b c")
                || html.contains(&format!("e {STOP}"))
                || html.contains(&format!("e{STOP}"))
                || html.contains(&format!("</del> {STOP}")),
            "{html}"
        );
        assert_eq!(counts.lacks_end, new_is_cut);
        assert_eq!(counts.added > 0, want.contains("<ins>"), "{counts:?}");
        assert_eq!(counts.removed > 0, want.contains("<del>"), "{counts:?}");
    }
}

#[test]
#[ignore = "slow"]
fn large_pages_are_marked_within_bounds() {
    let many = |word: &str, count: usize| word.repeat(count);
    let numbers = |from: usize| -> String {
        (from..from + 100_000).map(|number| (number * 7).to_string()).collect::<Vec<_>>().join(" ")
    };
    // A page with too many open elements is not marked.
    for (old, new, is_marked) in [
        (numbers(0), numbers(50_000), true),
        (many("a ", 500_000), many("b ", 500_000), true),
        (many("a b ", 250_000), many("b a ", 250_000), true),
        (many("<p>x", 250_000), many("<b>", 300_000), false),
        (many("<svg>", 200_000), many("<select>", 100_000), false),
        (many("&quot;", 150_000), many("<img src=x>", 90_000), true),
        (many("\u{4e00}", 300_000), many("\u{4e01}", 300_000), true),
    ] {
        let html = mark(&whole(&old), &whole(&new), |counts| format!("{}", counts.is_cut));
        assert_eq!(html.is_some(), is_marked, "{} -> {}", &old[..9], &new[..9]);
        let length = html.unwrap_or_default().len();
        assert!(length < 8 * (old.len() + new.len()) + 100 * MAX_WORDS);
    }
    let mut cut = None;
    let _marked = mark(&whole(&many("a ", MAX_WORDS + 1)), &whole("a"), |counts| {
        cut = Some(counts.is_cut);
        String::new()
    });
    assert_eq!(cut, Some(true));
    // Both are cut, and the last old words are beyond the cut of the new page.
    let list = |numbers: std::ops::Range<usize>| -> String {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
    };
    let (old, new) = (whole(&list(2_000..47_000)), whole(&list(0..47_000)));
    let html = mark(&old, &new, |counts| format!("{counts:?}")).unwrap();
    assert!(html.contains("removed: 0, is_cut: true"), "{}", &html[..200]);
}
