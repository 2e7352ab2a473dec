//! Any bytes as a document of any kind.
//!
//! Reading ends and never panics. The found links are bounded, equal to the requests of a browser,
//! and do not depend on how the document is split into pieces.

use wwwoffle_html::references::{
    BodyKind, Finder, MAX_LINK_BYTES, MAX_LINKS, References, Viewport,
};
use wwwoffle_url::BrowserUrl;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let [kind, piece, document @ ..] = data else { return };
    let kind = BodyKind::THAT_REFER[usize::from(*kind) % BodyKind::THAT_REFER.len()];
    let whole = find(kind, document, usize::MAX);
    assert!(whole.links.len() <= MAX_LINKS);
    assert!(whole.links.iter().map(|link| link.url.len()).sum::<usize>() <= MAX_LINK_BYTES);
    for link in &whole.links {
        let url = BrowserUrl::parse(&link.url, None).expect("a browser reads it");
        assert_eq!((url.as_str(), url.fragment()), (link.url.as_str(), None));
    }
    assert_eq!(whole, find(kind, document, 1 + usize::from(*piece)), "{kind:?}");
    let _kind = BodyKind::of(None, "http://a.example/", document);
}

fn find(kind: BodyKind, document: &[u8], piece: usize) -> References {
    let url = "http://a.example/d/p?q".parse().expect("a URL");
    let mut finder = Finder::new(kind, &url, None, &Viewport::default());
    for piece in document.chunks(piece) {
        finder.write(piece);
    }
    finder.finish()
}
