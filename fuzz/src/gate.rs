//! The gate passes one request after another, both for the parser behind it and for a model that
//! reads the whole stream at once. Sound requests pass, and a refused one never becomes a request.

use wwwoffle_http::framing::Gate;

use super::input::Input;

/// The largest number of fields that the parser behind the gate accepts.
const MAX_FIELDS: usize = 512;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (how, piece) = (input.byte(), 1 + usize::from(input.byte()));
    if how & 1 == 0 {
        judge(input.rest(), piece);
    } else {
        let stream = sound(&mut input);
        let passed = Passed::of(&stream, stream.len());
        assert_eq!(passed.refused, None, "{}", stream.escape_ascii());
        assert_eq!(passed.bytes, stream);
        judge(&stream, piece);
    }
}

/// The bytes that the gate passed, the reason why it refused the rest, and the end that it gives
/// the parser then.
#[derive(Debug)]
struct Passed {
    bytes: Vec<u8>,
    refused: Option<&'static str>,
    ending: &'static [u8],
}

impl Passed {
    fn of(stream: &[u8], piece: usize) -> Self {
        let (mut gate, mut passed) = (Gate::default(), Vec::new());
        for chunk in stream.chunks(piece.max(1)) {
            let mut bytes = chunk.to_vec();
            let count = gate.pass(&mut bytes);
            let was_sound = gate.refused().is_none();
            assert!(count == chunk.len() || !was_sound);
            assert!(!was_sound || bytes == chunk, "it changes nothing in a sound stream");
            passed.extend_from_slice(&bytes[..count]);
            if !was_sound {
                break;
            }
        }
        let refused = gate.refused();
        if refused.is_some() {
            assert_eq!(gate.pass(&mut b"GET / HTTP/1.1\r\n\r\n".to_vec()), 0, "nothing after it");
        }
        let ending = gate.ending();
        assert!(gate.ending().is_empty() && (ending.is_empty() || refused.is_some()));
        Self { bytes: passed, refused, ending }
    }
}

fn judge(stream: &[u8], piece: usize) {
    let whole = Passed::of(stream, stream.len());
    let pieces = Passed::of(stream, piece);
    assert_eq!(whole.refused, pieces.refused, "in pieces of {piece}");
    for passed in [whole, pieces] {
        let mut rest = passed.bytes.as_slice();
        while let Some(after) = one(rest, &passed) {
            rest = after;
        }
    }
}

/// Reads one request and returns the bytes after it. `None` if no further request can be read.
fn one<'a>(bytes: &'a [u8], passed: &Passed) -> Option<&'a [u8]> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let told = || format!("{} {:?}", bytes.escape_ascii(), passed.refused);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => {
            never_becomes_a_request(bytes, passed);
            return None;
        }
        Err(httparse::Error::TooManyHeaders) => return None,
        Err(_) => {
            // A target that is not UTF-8 is left to the parser, which responds with 400.
            let line = bytes.trim_ascii_start().split(|byte| *byte == b'\n').next();
            let is_text = str::from_utf8(line.unwrap_or_default()).is_ok();
            assert!(passed.refused.is_some() || !is_text, "it passed, and is none: {}", told());
            return None;
        }
    };
    let (text, body) = bytes.split_at(head);
    is_plain(text);
    let values = |name: &str| {
        let is_it = |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
        request.headers.iter().filter(is_it).map(|field| field.value).collect::<Vec<_>>()
    };
    let hosts = values("host");
    assert!(hosts.len() < 2, "{}", told());
    assert!(hosts.len() == 1 || request.version == Some(0), "{}", told());
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
    assert!(lengths.len() + codings.len() < 2, "{}", told());
    if request.method == Some("CONNECT") || !values("upgrade").is_empty() {
        return None;
    }
    match (lengths.first(), codings.first()) {
        (Some(length), _) => {
            let length = str::from_utf8(length).expect("digits").trim();
            assert!(length.bytes().all(|byte| byte.is_ascii_digit()), "{}", told());
            let length: u64 = length.parse().expect("it can be counted");
            body.get(usize::try_from(length).unwrap_or(usize::MAX)..)
        }
        (None, Some(coding)) => {
            assert!(coding.trim_ascii().eq_ignore_ascii_case(b"chunked"), "{}", told());
            assert_eq!(request.version, Some(1));
            behind_chunks(body, passed)
        }
        (None, None) => Some(body),
    }
    .filter(|rest| !rest.is_empty())
}

/// Gives the parser the end of a refused head, which must not make it a request.
fn never_becomes_a_request(bytes: &[u8], passed: &Passed) {
    if passed.ending.is_empty() {
        return;
    }
    let shown = [bytes, passed.ending].concat();
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let read = httparse::Request::new(&mut fields).parse(&shown);
    assert!(read.is_err(), "{} {read:?} {:?}", shown.escape_ascii(), passed.refused);
}

/// Checks that lines end in CRLF, and that no other byte can be taken for a line end.
fn is_plain(head: &[u8]) {
    let lines: Vec<_> = head.split(|byte| *byte == b'\n').collect();
    let (last, lines) = lines.split_last().expect("there is one");
    assert!(last.is_empty());
    for (line, number) in lines.iter().zip(0..) {
        let line = line.strip_suffix(b"\r").expect("an LF has its CR");
        assert!(!line.contains(&b'\r') && !line.contains(&0), "{}", head.escape_ascii());
        let is_field = number > 2 && !line.is_empty();
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let is_token = !name.iter().any(|byte| byte.is_ascii_whitespace());
        assert!(!is_field || is_token, "{}", head.escape_ascii());
    }
}

/// The bytes after a chunked body. `None` if the end of the body is missing.
fn behind_chunks<'a>(bytes: &'a [u8], passed: &Passed) -> Option<&'a [u8]> {
    let told = || format!("{} {:?}", bytes.escape_ascii(), passed.refused);
    let mut rest = bytes;
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = &rest[..end];
        let size = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
        let size = str::from_utf8(size).expect("hexadecimal digits");
        assert!(
            !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{}",
            told()
        );
        let size = usize::from_str_radix(size, 16).expect("it can be counted");
        rest = &rest[end + 2..];
        if size == 0 {
            break;
        }
        let data = rest.get(size..)?;
        if data.len() < 2 {
            return None;
        }
        if !data.starts_with(b"\r\n") {
            assert!(passed.refused.is_some(), "a chunk without its end: {}", told());
            return None;
        }
        rest = &data[2..];
    }
    if let Some(rest) = rest.strip_prefix(b"\r\n") {
        return Some(rest);
    }
    let end = rest.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (trailers, rest) = rest.split_at(end + 4);
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let read = httparse::parse_headers(trailers, &mut fields);
    assert!(read.is_ok() || read == Err(httparse::Error::TooManyHeaders), "{read:?}");
    Some(rest)
}

/// A stream of sound requests, whatever the bytes are.
fn sound(input: &mut Input<'_>) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..=input.byte() % 4 {
        for _ in 0..input.byte() % 3 {
            stream.extend_from_slice(b"\r\n");
        }
        request(input, &mut stream);
    }
    stream
}

fn request(input: &mut Input<'_>, stream: &mut Vec<u8>) {
    let method = input.pick(&["GET", "POST", "HEAD", "OPTIONS", "M-SEARCH", "x!#$%&'*+.^_`|~"]);
    let target = input.pick(&["/", "*", "http://h.example/a?b=c", "/%00\u{e4}", "/[\"<>\\^`{|}"]);
    let version = input.pick(&["1.1", "1.1", "1.0"]);
    stream.extend_from_slice(format!("{method} {target} HTTP/{version}\r\n").as_bytes());
    let mut lines: Vec<Vec<u8>> = Vec::new();
    if version == "1.1" || input.flag() {
        lines.push(input.pick(&[&b"Host: h.example"[..], b"hOST:\t[::1]:80 ", b"Host:"]).to_vec());
    }
    for _ in 0..input.byte() % 4 {
        let value: Vec<u8> =
            input.line_of_bytes().iter().copied().filter(|b| is_value(*b)).collect();
        let name = input.pick(&["X", "Content-Lengt", "Transfer-Encoding-", "cookie", "Hos"]);
        lines.push([name.as_bytes(), b":", &value].concat());
    }
    let body: Vec<u8> = input.line_of_bytes().to_vec();
    let framing = input.byte() % 3;
    match framing {
        0 => {}
        1 => lines.push(format!("content-LENGTH:  {}\t", body.len()).into_bytes()),
        _ if version == "1.0" => {}
        _ => lines.push(b"Transfer-Encoding: Chunked".to_vec()),
    }
    if !lines.is_empty() {
        let middle = usize::from(input.byte()) % lines.len();
        lines.rotate_left(middle);
    }
    for line in lines {
        stream.extend_from_slice(&line);
        stream.extend_from_slice(b"\r\n");
    }
    stream.extend_from_slice(b"\r\n");
    match framing {
        1 => stream.extend_from_slice(&body),
        2 if version == "1.1" => chunks(input, &body, stream),
        _ => {}
    }
}

fn chunks(input: &mut Input<'_>, body: &[u8], stream: &mut Vec<u8>) {
    let size = 1 + usize::from(input.byte() % 64);
    for chunk in body.chunks(size) {
        let extension = input.pick(&["", ";a=b", " ;\u{e4}", ";"]);
        stream.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
        stream.extend_from_slice(chunk);
        stream.extend_from_slice(b"\r\n");
    }
    stream.extend_from_slice(input.pick(&[&b"0\r\n"[..], b"000;x\r\n"]));
    stream.extend_from_slice(input.pick(&[&b"\r\n"[..], b"A: b\r\nContent-Length: 5\r\n\r\n"]));
}

fn is_value(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f) || byte == b'\t'
}
