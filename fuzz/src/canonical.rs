//! Any bytes as a URL, as a link, and as input of the encoders and decoders.

use wwwoffle_url::{
    CanonicalUrl, LocalScope, OldRecord, canonicalise_host, canonicalise_name, fix_html_link_url,
    link_url, url_decode_form_args, url_decode_generic, url_encode_form_args, url_encode_password,
    url_encode_path, url_recode_form_args,
};

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let around = LocalScope::default();
    if let Ok(url) = CanonicalUrl::parse_bytes(data, &around.local_host) {
        is_idempotent(&url, data, &around);
        if let Ok(text) = std::str::from_utf8(data) {
            is_the_host_of_browsers(&url, text);
        }
    }
    let (base, link) = data.split_at(data.len() / 2);
    if let Ok(base) = CanonicalUrl::parse_bytes(base, &around.local_host) {
        let found = link_url(&base, link, &around.local_host);
        let record = OldRecord::link_url(base.as_str().as_bytes(), link, &around);
        assert_eq!(found.map(|url| url.to_string()), record.map(|record| record.url.to_string()));
    }
    coders_undo_each_other(data);
    if let Ok(host) = canonicalise_host(data) {
        assert_eq!(canonicalise_host(host.as_bytes()), Ok(host));
    }
    let name = canonicalise_name(data);
    assert_eq!(canonicalise_name(&name), name);
    let _ = fix_html_link_url(data);
}

fn is_idempotent(url: &CanonicalUrl, data: &[u8], around: &LocalScope) {
    let record = OldRecord::split_url(data, around).expect("it could be parsed");
    let again = CanonicalUrl::parse(&record.file(), &around.local_host).expect("it is canonical");
    assert_eq!(&again, url);
    assert_eq!(again.key(), url.key());
    assert_eq!((again.user(), again.password()), (url.user(), url.password()));
}

/// Checks that a browser would send the request to the host under which the response is stored.
fn is_the_host_of_browsers(url: &CanonicalUrl, text: &str) {
    let Ok(theirs) = url::Url::parse(text) else { return };
    let port = theirs.port_or_known_default();
    if theirs.is_special() && theirs.scheme() != "file" {
        assert_eq!(Some(url.host()), theirs.host_str());
        assert_eq!((url.protocol(), url.port_or_default()), (theirs.scheme(), port));
    }
}

fn coders_undo_each_other(data: &[u8]) {
    assert_eq!(url_decode_generic(url_encode_path(data).as_bytes()), data);
    assert_eq!(url_decode_generic(url_encode_password(data).as_bytes()), data);
    assert_eq!(url_decode_form_args(url_encode_form_args(data).as_bytes()), data);
    let recoded = url_recode_form_args(data);
    assert_eq!(url_recode_form_args(recoded.as_bytes()), recoded);
}
