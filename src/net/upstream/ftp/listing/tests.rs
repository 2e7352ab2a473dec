use super::*;
use proptest::prelude::*;

fn file(name: &[u8], size: Option<u64>, modified: &str) -> ListedLine {
    let (name, modified) = (name.to_vec(), modified.to_owned());
    ListedLine::File(ListedFile { name, is_directory: false, size, modified })
}

fn directory(name: &[u8], modified: &str) -> ListedLine {
    let (name, modified) = (name.to_vec(), modified.to_owned());
    ListedLine::File(ListedFile { name, is_directory: true, size: None, modified })
}

#[test]
fn each_format_is_read() {
    use ListedLine::{Nothing, Other};
    use ListingFormat::{Facts, Free};
    for (format, line, want) in [
        (
            Facts,
            &b"Type=file;Size=25;Modify=20240102030405.678;Perm=r; a; b"[..],
            file(b"a; b", Some(25), "2024-01-02 03:04"),
        ),
        (Facts, b"size=4096;type=dir;modify=x; pub", directory(b"pub", "")),
        (Facts, b" no facts", file(b"no facts", None, "")),
        (Facts, b"size=99999999999999999999; big", file(b"big", None, "")),
        (Facts, b"type=OS.unix=slink:/a; link", file(b"link", None, "")),
        (Facts, b"type=file; caf\xe9", file(b"caf\xe9", None, "")),
        (Facts, b"type=cdir; /pub", Nothing),
        (Facts, b"type=file; a/b", Other),
        (Facts, b"type=file;", Other),
        (Facts, b"nonsense", Other),
        (
            Free,
            b"-rw-r--r--   1 ftp  ftp   1024 Nov 05  2018 a file",
            file(b"a file", Some(1024), "2018-11-05 00:00"),
        ),
        (
            Free,
            b"drwxr-xr-x   2 0    0     4096 Nov 05  2018 caf\xc3\xa9",
            directory("café".as_bytes(), "2018-11-05 00:00"),
        ),
        (
            Free,
            b"lrwxrwxrwx   1 0    0        4 Nov 05  2018 link -> /etc",
            file(b"link", None, "2018-11-05 00:00"),
        ),
        (Free, b"10-19-20  03:19PM       <DIR>  pub", directory(b"pub", "2020-10-19 15:19")),
        (
            Free,
            b"04-08-14  03:09PM  403   readme.txt",
            file(b"readme.txt", Some(403), "2014-04-08 15:09"),
        ),
        (Free, b"total 12", Nothing),
        (Free, b"drwxr-xr-x 2 0 0 4096 Nov 05 2018 ..", Nothing),
        (Free, b"a VMS listing.;1", Other),
    ] {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(parse(format, line), want, "{format:?}: {shown}");
    }
}

#[test]
fn a_long_line_takes_bounded_memory() {
    let (mut listing, _) = Listing::begin(ListingFormat::Free, "ftp://h/", true);
    for _ in 0..1_000 {
        assert_eq!(listing.add(&[b'x'; 1_000]), "");
        assert!(listing.line.len() <= MAX_LINE);
    }
    assert!(listing.finish().len() < MAX_LINE + 200);
}

proptest! {
    /// However a listing is cut into pieces, its page is the same. The page contains only tags and
    /// links of ours, and no control characters.
    #[test]
    fn any_listing_is_a_safe_page(
        lines in proptest::collection::vec(
            "(type=(file|dir);(size=[0-9]{1,22};)?(modify=[0-9.]{0,20};)? )?[\\PC\\x00-\\x1f<>\"'&/]{0,40}\
             |[-ld][-rwxsStT]{9} +[0-9]{1,3} u g [0-9]{1,21} (Jan|Feb|Xyz) [0-9]{1,2} \
             ([0-9]{4}|[0-9]{1,2}:[0-9]{2}) .{0,20}\
             |[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}[AP]M (<DIR>|[0-9,]{1,22}) .{0,20}",
            0..8,
        ),
        at in 0_usize..400,
        has_facts in any::<bool>(),
    ) {
        let format = if has_facts { ListingFormat::Facts } else { ListingFormat::Free };
        let bytes = lines.join("\r\n").into_bytes();
        let page = |pieces: &[&[u8]]| {
            let (mut listing, _) = Listing::begin(format, "ftp://h/", true);
            let rows: String = pieces.iter().map(|piece| listing.add(piece)).collect();
            rows + &listing.finish()
        };
        let (first, rest) = bytes.split_at(at.min(bytes.len()));
        let whole = page(&[&bytes]);
        prop_assert_eq!(&page(&[first, rest]), &whole);
        prop_assert!(!whole.chars().any(|c| c.is_control() && c != '\n'));
        let rows = whole.strip_suffix("</table>\n</body>\n</html>\n").unwrap();
        for piece in rows.split('<').skip(1) {
            let tag = piece.split('>').next().unwrap();
            let link = tag.strip_prefix("a href=\"").and_then(|link| link.strip_suffix('"'));
            let is_safe = |link: &str| {
                let name = link.strip_suffix('/').unwrap_or(link);
                let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
                !matches!(name, "" | "." | "..") && name.bytes().all(is_of_a_name)
            };
            let ours = ["tr", "td", "/a", "/td", "/tr", "td class=\"n\"", "td colspan=\"3\""];
            prop_assert!(ours.contains(&tag) || link.is_some_and(is_safe), "{tag:?} in {whole}");
        }
    }
}
