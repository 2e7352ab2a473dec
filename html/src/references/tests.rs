//! Tables of documents and their references, and properties for arbitrary bytes.

mod bounds;
mod properties;
mod tables;

use super::{BodyKind, Finder, References, Viewport};

/// Parses a document in pieces of this length.
fn find_in(kind: BodyKind, document: &[u8], piece: usize) -> References {
    let url = "http://a.example/d/p?q".parse().unwrap();
    let mut finder = Finder::new(kind, &url, None, &want());
    for piece in document.chunks(piece) {
        finder.write(piece);
    }
    finder.finish()
}

fn want() -> Viewport {
    Viewport { width: 1000, height: 500, density_percent: 100, all_candidates: false }
}
