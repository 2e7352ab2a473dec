//! Two texts as base and reference under all rules, as URIs, PDF strings and running text.

use super::input::{Input, text};
use wwwoffle_url::{
    BrowserUrl, Grammar, Reference, ResolutionRules, Uri, extract, parse_host, pdf_canonical,
    resolve,
};

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let base = input.line();
    let text = text(input.rest());
    assert_eq!(Reference::parse(text).to_string(), text);
    for rules in
        [ResolutionRules::DraftFielding, ResolutionRules::Rfc3986, ResolutionRules::Browser]
    {
        let _ = resolve(base, text, rules);
    }
    browsers_agree_with_themselves(base, text);
    fields_undo_each_other(text);
    if let Ok(canonical) = pdf_canonical(text, Some(base)) {
        assert_eq!(pdf_canonical(&canonical, None), Ok(canonical));
    }
    let mut end = 0;
    for found in extract(text) {
        assert!(end <= found.span.start && found.span.start < found.span.end);
        end = found.span.end;
        let there: String = text[found.span].split_whitespace().collect();
        assert_eq!(there, found.url);
    }
}

fn browsers_agree_with_themselves(base: &str, text: &str) {
    let base = BrowserUrl::parse(base, None).ok();
    if let Ok(url) = BrowserUrl::parse(text, base.as_ref()) {
        assert_eq!(BrowserUrl::parse(url.as_str(), None), Ok(url));
    }
    for special in [true, false] {
        if let Ok(host) = parse_host(text, special) {
            assert_eq!(parse_host(&host.to_string(), special), Ok(host));
        }
    }
}

fn fields_undo_each_other(text: &str) {
    let Ok(uri) = Uri::parse_reference(text, Grammar::Relaxed) else { return };
    assert_eq!(uri.form(), text);
    let fields = uri.decode_fields();
    let encoded = fields.encode().expect("fields that were decoded can be encoded");
    assert_eq!(encoded.decode_fields(), fields);
    assert_eq!(Uri::parse_reference(&encoded.form(), Grammar::Strict), Ok(encoded));
}
