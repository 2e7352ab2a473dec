//! Properties that hold for arbitrary bytes.

use proptest::prelude::*;

use super::super::{BodyKind, MAX_LINKS};
use super::find_in;

/// Pieces of documents, combined at random.
const PIECES: &[&str] = &[
    "<img src=a.png>",
    "<img srcset='a 1x, b 2x' src=",
    "'",
    "\"",
    ">",
    "<",
    "</",
    "<a href=x>",
    "<!--",
    "-->",
    "<style>",
    "</style>",
    "url(a.png)",
    "url('",
    ")",
    "@import 'x';",
    "{",
    "}",
    "/*",
    "*/",
    "\\",
    "<script>",
    "</script>",
    "import './x.js';",
    "import(",
    "'./y.js')",
    "`",
    "${",
    "//",
    "\n",
    " ",
    "/",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "&amp;",
    "&#x41;",
    "&",
    "<noscript>",
    "</noscript>",
    "<template>",
    "</template>",
    "<picture>",
    "<source srcset=s>",
    "<base href=/b/>",
    "<iframe srcdoc='<img src=q>'>",
    "<![CDATA[",
    "]]>",
    "<?xml version='1.0'?>",
    "<rss>",
    "<link>/1</link>",
    "<link href=l>",
    "<urlset>",
    "<url>",
    "<loc>u</loc>",
    "{\"icons\":[{\"src\":\"i.png\"}]}",
    "é",
    "\u{0}",
    "<meta charset=koi8-r>",
    "?я=я",
    "<p",
    "<x y=z",
    "=",
];

fn document() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
        1 => Just(vec![b' '; 700]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_same_references_are_found_in_any_pieces(
        document in document(),
        kind in 0..BodyKind::THAT_REFER.len(),
        piece in 1..40_usize,
    ) {
        let whole = find_in(BodyKind::THAT_REFER[kind], &document, usize::MAX);
        prop_assert!(whole.links.len() <= MAX_LINKS);
        prop_assert_eq!(&whole, &find_in(BodyKind::THAT_REFER[kind], &document, piece));
        for link in &whole.links {
            let url = wwwoffle_url::BrowserUrl::parse(&link.url, None).unwrap();
            prop_assert_eq!(url.as_str(), &link.url, "a browser reads it as it is");
            prop_assert_eq!(url.fragment(), None);
        }
    }
}
