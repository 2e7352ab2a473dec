//! Forms with a file: `multipart/form-data` (RFC 7578). The file is a field like any other.

use super::{BadForm, MOST_FIELDS};

/// The longest boundary, in bytes (RFC 2046 §5.1.1).
const LONGEST_BOUNDARY: usize = 70;

/// The longest header section of a part, in bytes. It has the name of the file.
const LONGEST_HEAD: usize = 4 << 10;

/// Returns the boundary in a content type. `None` for another type, or if the boundary is invalid.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (essence, parameters) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    })?;
    let bare = named.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(named);
    (!bare.is_empty() && bare.len() <= LONGEST_BOUNDARY).then_some(bare)
}

/// Returns the fields of a body, in order.
pub(super) fn fields(body: &[u8], boundary: &str) -> Result<Vec<(String, String)>, BadForm> {
    let first = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    let Some(mut rest) = body.strip_prefix(first.as_bytes()) else {
        return Err(BadForm::Malformed);
    };
    let mut fields = Vec::new();
    while !rest.starts_with(b"--") {
        if fields.len() == MOST_FIELDS {
            return Err(BadForm::TooManyFields);
        }
        let part = rest.strip_prefix(b"\r\n").ok_or(BadForm::Malformed)?;
        let end = find(part, between.as_bytes()).ok_or(BadForm::Malformed)?;
        let (part, next) = part.split_at(end);
        let (head, value) = split_head(part).ok_or(BadForm::Malformed)?;
        if let Some(name) = name_in(head) {
            let value = String::from_utf8(value.to_vec()).map_err(|_| BadForm::NotUtf8)?;
            fields.push((name, value));
        }
        rest = next.get(between.len()..).unwrap_or_default();
    }
    Ok(fields)
}

/// Splits a part into its header section and its content.
fn split_head(part: &[u8]) -> Option<(&str, &[u8])> {
    let most = part.len().min(LONGEST_HEAD);
    let end = find(part.get(..most)?, b"\r\n\r\n")?;
    let head = std::str::from_utf8(part.get(..end)?).ok()?;
    Some((head, part.get(end + 4..)?))
}

/// The name of a field. Browsers write a quotation mark in it as `%22`.
fn name_in(head: &str) -> Option<String> {
    let line = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let (_, rest) = line.split_once("; name=\"")?;
    rest.split_once('"').map(|(name, _)| name.to_owned())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_form_with_a_file_are_read() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nabc\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a; name=\\\"b.json\"\r\n\
            Content-Type: application/json\r\n\r\n{\"a\":\r\n--y}\r\n--x--\r\n";
        let fields = fields(body, "x").unwrap();
        let want = [("token", "abc"), ("file", "{\"a\":\r\n--y}")];
        assert_eq!(fields, want.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_malformed_body_is_refused() {
        for body in [
            "",
            "--y--",
            "--x",
            "--x\r\n",
            "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb",
            "--x\r\nno head\r\n--x--",
        ] {
            assert_eq!(fields(body.as_bytes(), "x"), Err(BadForm::Malformed), "{body:?}");
        }
        assert_eq!(fields(b"--x--", "x"), Ok(Vec::new()));
        let part = "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x";
        let many = format!("--x{}--", part.repeat(MOST_FIELDS + 1));
        assert_eq!(fields(many.as_bytes(), "x"), Err(BadForm::TooManyFields));
    }

    #[test]
    fn only_form_data_has_a_boundary() {
        for (kind, want) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/mixed; boundary=abc", None),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("application/x-www-form-urlencoded", None),
        ] {
            assert_eq!(boundary(kind), want, "{kind}");
        }
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        assert_eq!(boundary(&long), None);
    }
}
