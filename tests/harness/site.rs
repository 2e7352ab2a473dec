//! A site of more than 200 resources. Each body is derived from its path, so each request gets the
//! same bytes.

use std::io::{self, Write as _};

use super::origin::{After, Answer, Exchange};

/// Size of the big file in bytes: `/big/52428800`.
pub(crate) const BIG: u64 = 50 * 1024 * 1024;

/// The length of a block of a pattern. All blocks are equal, except for their leading number.
const BLOCK: usize = 64 * 1024;

/// Pseudo-random bytes from a seed, like those of a binary file.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A body of any length that is fast to generate and to check: equal blocks with a leading number.
pub(crate) struct Pattern {
    block: Vec<u8>,
}

impl Pattern {
    pub(crate) fn new() -> Self {
        Self { block: noise(1, BLOCK) }
    }

    /// The block with this number. It begins at `number` times the block length.
    pub(crate) fn block(&mut self, number: u64) -> &[u8] {
        self.block[..8].copy_from_slice(&number.to_be_bytes());
        &self.block
    }

    /// Passes a body of `length` bytes to `take`, block by block.
    pub(crate) fn pieces(
        &mut self,
        length: u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut number, mut left) = (0, length);
        while left > 0 {
            let some = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            take(&self.block(number)[..some])?;
            (number, left) = (number + 1, left - some as u64);
        }
        Ok(())
    }
}

/// A comparison of received bytes with a [`Pattern`].
pub(crate) struct Check {
    pattern: Pattern,
    /// The number of bytes received so far.
    pub(crate) seen: u64,
    /// The offset at which the first wrong piece begins.
    pub(crate) wrong: Option<u64>,
}

impl Check {
    pub(crate) fn new() -> Self {
        Self { pattern: Pattern::new(), seen: 0, wrong: None }
    }

    pub(crate) fn take(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (number, at) = (self.seen / BLOCK as u64, (self.seen % BLOCK as u64) as usize);
            let some = piece.len().min(BLOCK - at);
            if self.pattern.block(number)[at..at + some] != piece[..some] {
                self.wrong.get_or_insert(self.seen);
            }
            self.seen += some as u64;
            piece = &piece[some..];
        }
    }
}

/// Every path of the site except the big file.
pub(crate) fn paths() -> Vec<String> {
    let mut paths = vec!["/".to_owned(), "/empty".to_owned(), "/cookie".to_owned()];
    let kinds = [
        ("/page/", 90, ".html"),
        ("/image/", 50, ".png"),
        ("/style/", 20, ".css"),
        ("/gzip/", 20, ".html"),
        ("/gone/", 10, ".html"),
        ("/moved/", 10, ""),
        ("/tagged/", 10, ".txt"),
        ("/trailer/", 3, ".txt"),
        ("/hinted/", 3, ".html"),
    ];
    for (before, count, after) in kinds {
        paths.extend((0..count).map(|number| format!("{before}{number}{after}")));
    }
    paths
}

/// The response for a path. `None` if the site has no such path.
pub(crate) fn answer(path: &str) -> Option<Answer> {
    let (kind, name) = path.trim_start_matches('/').split_once('/').unwrap_or((&path[1..], ""));
    let number: u64 = name.split('.').next().and_then(|name| name.parse().ok()).unwrap_or(0);
    let answer = match kind {
        "" => Answer::html(index()),
        "page" => framed(number, Answer::html(page(number))),
        "image" => framed(number, Answer::new(200, "image/png", png(number))),
        "style" => Answer::new(200, "text/css", style(number)),
        "gzip" => framed(number, Answer::html(gzip(page(number).as_bytes())))
            .field("Content-Encoding", "gzip"),
        "gone" => framed(number, Answer::html(format!("<p>Nothing at {number}, honestly.")))
            .with_status(404),
        "moved" => {
            let status = [301, 302, 303, 307, 308][(number % 5) as usize];
            Answer::redirect(status, &format!("/page/{number}.html"))
        }
        "tagged" => Answer::new(200, "text/plain", format!("tagged {number}\n"))
            .field("ETag", &format!("\"tag-{number}\""))
            .field("Last-Modified", "Sat, 01 Nov 2025 10:00:00 GMT"),
        "trailer" => Answer::new(200, "text/plain", noise(number + 900, 5_000))
            .field("Trailer", "X-Sum")
            .trailer("X-Sum", &format!("sum-{number}")),
        "hinted" => Answer::html(page(number))
            .after("HTTP/1.1 103 Early Hints\r\nLink: </style/0.css>; rel=preload"),
        "empty" => Answer::new(204, "", ""),
        "cookie" => Answer::html("<p>A cookie.").field("Set-Cookie", "a=1; Path=/; HttpOnly"),
        _ => return None,
    };
    Some(answer)
}

/// Serves the site and the big files. All other paths get 404.
pub(crate) fn serve(exchange: &mut Exchange<'_>) -> io::Result<After> {
    let target = exchange.seen.target.clone();
    if let Some(length) = target.strip_prefix("/big/").and_then(|length| length.parse().ok()) {
        return big(exchange, length);
    }
    let nothing = || Answer::html("<p>No such page.").with_status(404);
    let answer = answer(&target).unwrap_or_else(nothing);
    exchange.answer(&answer)
}

fn big(exchange: &mut Exchange<'_>, length: u64) -> io::Result<After> {
    exchange.send(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n"
    ))?;
    Pattern::new().pieces(length, |piece| exchange.send(piece))?;
    Ok(After::Keep)
}

impl Answer {
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

/// Distributes the three kinds of framing over the site.
fn framed(number: u64, answer: Answer) -> Answer {
    match number % 3 {
        0 => answer,
        1 => answer.chunked(),
        _ => answer.until_close(),
    }
}

fn index() -> String {
    let link = |path: String| format!("<li><a href=\"{path}\">{path}</a>\n");
    let links: String = paths().into_iter().skip(1).map(link).collect();
    format!("<!DOCTYPE html><title>The site</title><ul>\n{links}</ul>\n")
}

fn page(number: u64) -> String {
    let (style, image) = (number % 20, number % 50);
    let text: String = (0..(number * 17) % 400)
        .map(|line| format!("<p>Line {line} of page {number}: äöü €</p>\n"))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Page {number}</title>\
         <link rel=\"stylesheet\" href=\"/style/{style}.css\"></head>\n<body><h1>Page {number}</h1>\n\
         <img src=\"/image/{image}.png\" alt=\"\"><a href=\"/page/{}.html\">next</a>\n{text}</body></html>\n",
        number + 1
    )
}

fn style(number: u64) -> String {
    format!("h1 {{ color: #{:06x}; background: url(/image/{number}.png) }}\n", number * 12_345)
}

/// A file that begins like a PNG. Its other bytes are pseudo-random.
fn png(number: u64) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(noise(number, usize::try_from(number * number * 97 % 200_000).unwrap()));
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
