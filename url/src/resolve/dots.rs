//! Removal of the segments `.` and `..`, according to two documents that disagree about a `..` at
//! the top of a path.

/// Removes dot segments as in RFC 3986 §5.2.4: a `..` above the top is removed.
///
/// One pass over the segments replaces the RFC's two buffers, so the time is linear.
pub(crate) fn remove_dot_segments(path: &str) -> String {
    let mut output = String::with_capacity(path.len());
    // 2A and 2D: leading `../` and `./`, and a path that consists only of dots.
    let mut rest = path;
    while let Some(after) = rest.strip_prefix("../").or_else(|| rest.strip_prefix("./")) {
        rest = after;
    }
    if matches!(rest, "." | "..") {
        return output;
    }
    // 2E for the first segment of a path that has no leading slash.
    let first = rest.find('/').unwrap_or(rest.len());
    let (head, mut rest) = rest.split_at(first);
    output.push_str(head);
    while let Some(after) = rest.strip_prefix('/') {
        let end = after.find('/').unwrap_or(after.len());
        let (segment, next) = after.split_at(end);
        match segment {
            "." => {}
            ".." => output.truncate(output.rfind('/').unwrap_or(0)),
            _ => {
                output.push('/');
                output.push_str(segment);
            }
        }
        // 2B and 2C keep the slash before a final dot segment.
        if next.is_empty() && matches!(segment, "." | "..") {
            output.push('/');
        }
        rest = next;
    }
    output
}

/// Removes dot segments as in draft-fielding-url-syntax-02 §5.2 steps 6d to 6g (and RFC 1808 §4
/// steps 6a to 6d, word for word): `..` removes the segment before it, and stays if there is no
/// such segment.
///
/// The documents remove the leftmost match repeatedly. A stack of segments gives the same result in
/// linear time.
pub(crate) fn merge_segments(path: &str) -> String {
    let (root, rest) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." if kept.last().is_some_and(|&last| last != "..") => {
                kept.pop();
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("{root}{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{merge_segments, remove_dot_segments};

    #[test]
    fn dot_segments_at_the_top_follow_each_rfc() {
        // Each row: path, result by RFC 3986 §5.2.4, result by draft-fielding-url-syntax-02 §5.2.
        let rows = [
            ("/a/b/c/./../../g", "/a/g", "/a/g"),
            ("mid/content=5/../6", "mid/6", "mid/6"),
            ("", "", ""),
            ("/", "/", "/"),
            (".", "", ""),
            ("..", "", ".."),
            ("../..", "", "../.."),
            ("./a", "a", "a"),
            ("/..", "/", "/.."),
            ("/../g", "/g", "/../g"),
            ("/a/..", "/", "/"),
            ("/a/b/..", "/a/", "/a/"),
            ("a/..", "/", ""),
            ("a/../b", "/b", "b"),
            ("/a/../../b", "/b", "/../b"),
            ("/a//../b", "/a/b", "/a/b"),
            ("//../b", "/b", "/b"),
            ("/./", "/", "/"),
            ("/a/.", "/a/", "/a/"),
            ("/a/.../..b/.c", "/a/.../..b/.c", "/a/.../..b/.c"),
        ];
        for (path, rfc3986, draft) in rows {
            assert_eq!(remove_dot_segments(path), rfc3986, "RFC 3986, {path}");
            assert_eq!(merge_segments(path), draft, "draft, {path}");
        }
    }
}
