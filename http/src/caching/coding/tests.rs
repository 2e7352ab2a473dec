//! Accepted codings, delivery, and the fields of delivered responses, by table.

use super::*;

fn fields(text: &str) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in text.split('|').map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        let name: HeaderName = name.parse().unwrap();
        fields.append(name, value.trim().parse().unwrap());
    }
    fields
}

/// Rows of a table: columns between `;;`, comments after `#`.
fn rows(table: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let rows = (1..).zip(table.lines().map(str::trim));
    rows.filter(|(_, row)| !row.is_empty() && !row.starts_with('#'))
        .map(|(number, row)| (number, row.split(";;").map(str::trim).collect()))
}

#[test]
fn accepted_codings_match_the_table() {
    for (number, row) in rows(include_str!("accepted.txt")) {
        let [said, takes] = row[..] else { panic!("accepted.txt:{number}: {row:?}") };
        let said = match said {
            "-" => HeaderMap::new(),
            said => fields(&format!("accept-encoding:{}", said.replace('|', "|accept-encoding:"))),
        };
        let accepted = AcceptedCodings::of(&said);
        let got: Vec<_> = ["gzip", "deflate", "br", "zstd", "compress", "identity"]
            .into_iter()
            .filter(|name| accepted.accepts(name))
            .collect();
        let want: Vec<_> = takes.split_ascii_whitespace().collect();
        assert_eq!(got, want, "accepted.txt:{number}: {row:?}");
        assert_eq!(accepted.accepts("X-GZip"), accepted.accepts("gzip"));
    }
}

#[test]
fn a_long_field_is_read_up_to_its_limit() {
    let many = "x,".repeat(MAX_MEMBERS - 1);
    let last = |members: &str| AcceptedCodings::of(&fields(&format!("accept-encoding: {members}")));
    assert!(last(&format!("{many}br,gzip")).accepts("br"));
    assert!(!last(&format!("{many}br,gzip")).accepts("gzip"));
    let mut binary = HeaderMap::new();
    binary.insert(ACCEPT_ENCODING, HeaderValue::from_bytes(b"gzip, \xff").unwrap());
    let accepted = AcceptedCodings::of(&binary);
    assert!(!accepted.accepts("gzip") && accepted.accepts("identity"));
}

#[test]
fn a_response_is_delivered_as_the_table_says() {
    for (number, row) in rows(include_str!("deliver.txt")) {
        let [request, answer, want] = row[..] else { panic!("deliver.txt:{number}: {row:?}") };
        let is_file = request.contains("x-file");
        let terms = CodingTerms::of(&fields(request), true, is_file);
        let status = if answer.contains("content-range") { 206 } else { 200 };
        let delivery = terms.deliver(StatusCode::from_u16(status).unwrap(), &fields(answer));
        let names = |codings: &[Coding]| {
            codings.iter().map(|coding| coding.as_str()).collect::<Vec<_>>().join(" ")
        };
        let got = match &delivery {
            Delivery::AsItIs => "as it is".to_owned(),
            Delivery::AsKept => "as kept".to_owned(),
            Delivery::NotForIt => "not for it".to_owned(),
            Delivery::Decoded { undone, left } if left.is_empty() => {
                format!("undo {}", names(undone))
            }
            Delivery::Decoded { undone, left } => {
                format!("undo {} leave {}", names(undone), names(left))
            }
        };
        assert_eq!(got, want, "deliver.txt:{number}: {row:?}");
        assert_eq!(delivery.is_readable(), want != "not for it");
        let is_taken = terms.accepts_unchanged(&fields(answer));
        assert!(is_taken || want != "as kept", "deliver.txt:{number}: {row:?}");
        assert!(!is_taken || !delivery.is_decoded(), "deliver.txt:{number}: {row:?}");
        assert_eq!(delivery.is_decoded(), want.starts_with("undo"));
    }
}

#[test]
fn too_many_codings_are_not_decoded() {
    let terms = CodingTerms::of(&fields("accept-encoding: identity"), true, false);
    for (codings, want) in [
        ("gzip, gzip, gzip", false),
        ("gzip, gzip, gzip, gzip", true),
        (&format!("{}gzip", "identity,".repeat(MAX_CODINGS - 1)), false),
        (&format!("{}gzip", "identity,".repeat(MAX_CODINGS)), true),
    ] {
        let answer = fields(&format!("content-encoding: {codings}"));
        let delivery = terms.deliver(StatusCode::OK, &answer);
        assert_eq!(delivery == Delivery::AsItIs, want, "{codings}");
    }
}

#[test]
fn the_requested_codings_depend_on_whether_the_response_is_stored() {
    let client = "accept-encoding: br;q=0.5, dcb | available-dictionary: :AA==: | accept: */*";
    for (asks_ours, more, want) in [
        (true, "", OUR_CODINGS),
        (false, "", "br;q=0.5, dcb"),
        (false, "| cache-control: no-transform", "br;q=0.5, dcb"),
        (true, "| cache-control: no-cache, No-Transform", "br"),
    ] {
        let given = fields(&format!("{client}{more}"));
        let mut request = given.clone();
        let terms = CodingTerms::of(&given, asks_ours, false);
        terms.strip(&mut request);
        terms.write_accept_encoding(&mut request);
        assert_eq!(request.get_all(ACCEPT_ENCODING).iter().collect::<Vec<_>>(), [want]);
        assert_eq!(request.contains_key("available-dictionary"), !asks_ours);
        assert_eq!(terms.requests_all_codings(), want == OUR_CODINGS);
        assert_eq!(request["accept"], "*/*");
    }
    for (said, want) in [
        ("", "identity"),
        ("accept-encoding:", "identity"),
        ("accept-encoding: dcb", "identity"),
        ("accept-encoding: *", OUR_CODINGS),
        ("accept-encoding: X-GZIP, zstd;q=0.1, br;q=0", "gzip, zstd"),
        ("accept-encoding: gzip, identity;q=0", "gzip, identity;q=0"),
        ("accept-encoding: *;q=0", "identity;q=0"),
    ] {
        let mut request = fields(said);
        let mut terms = CodingTerms::of(&request, true, false);
        terms.use_client_codings();
        terms.write_accept_encoding(&mut request);
        assert_eq!(request.get_all(ACCEPT_ENCODING).iter().collect::<Vec<_>>(), [want], "{said}");
    }
    let mut silent = HeaderMap::new();
    CodingTerms::of(&silent.clone(), true, false).write_accept_encoding(&mut silent);
    assert_eq!(silent[ACCEPT_ENCODING], OUR_CODINGS);
    for name in OUR_CODINGS.split(", ") {
        assert!(Coding::parse(name).is_some(), "{name} is asked for and cannot be undone");
    }
}

#[test]
fn response_fields_are_amended_as_the_table_says() {
    for (number, row) in rows(include_str!("amend.txt")) {
        let [said, answer, want] = row[..] else { panic!("amend.txt:{number}: {row:?}") };
        let mut answer = fields(answer);
        let terms = CodingTerms::of(&fields(&format!("accept-encoding: {said}")), true, false);
        let delivery = terms.deliver(StatusCode::OK, &answer);
        delivery.amend(&mut answer);
        let mut got: Vec<_> = answer
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        got.sort();
        assert_eq!(got.join(" | "), want, "amend.txt:{number}: {row:?}");
        // Amending a second time changes nothing.
        let before = answer.clone();
        delivery.amend(&mut answer);
        assert_eq!(answer, before, "amend.txt:{number}");
    }
}

#[test]
fn digests_are_removed_from_trailers() {
    let trailers = fields("repr-digest: sha-256=:AA==: | x-sum: 1");
    for (said, want) in [("br", 2), ("identity", 1)] {
        let terms = CodingTerms::of(&fields(&format!("accept-encoding: {said}")), true, false);
        let mut left = trailers.clone();
        terms.deliver(StatusCode::OK, &fields("content-encoding: br")).amend_trailers(&mut left);
        assert_eq!(left.len(), want, "{said}");
    }
}
