//! Our own URL functions. Their strings are text.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use wwwoffle_spool::Place;
use wwwoffle_url::{
    CanonicalUrl, Grammar, HostField, HostKind, LocalHost, Pair, ResolutionRules, Uri, UriFields,
    extract, pdf_canonical, pdf_identifier, resolve,
};

use super::{Unanswerable, UrlAnswer};

/// Answers a question for one of our functions; `None` if there is no such function.
pub(super) fn answer(function: &str, given: &Value, local: &LocalHost) -> Option<UrlAnswer> {
    Some(match function {
        "canonical" => canonical(given, local),
        "reference" => reference(given),
        "uri" => uri(given),
        "pdf" => pdf(given),
        "extract" => found(given),
        _ => return None,
    })
}

fn canonical(given: &Value, local: &LocalHost) -> UrlAnswer {
    let url = CanonicalUrl::parse(&fields::<String>(given)?, local)?;
    Ok(json!({
        "canonical": url.as_str(),
        "key": url.key().to_string(),
        "spool_path": Place::of(&url.without_credentials()).relative_path().display().to_string(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceQuestion {
    base: String,
    #[serde(rename = "ref")]
    reference: String,
    rules: RulesName,
}

/// The names of the rule sets for resolving references, as in the columns of `resolve.jsonl`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RulesName {
    #[serde(rename = "draft-fielding-02", alias = "draft-fielding")]
    DraftFielding,
    Rfc3986,
    #[serde(alias = "browser", alias = "browsers")]
    Whatwg,
}

fn reference(given: &Value) -> UrlAnswer {
    let question: ReferenceQuestion = fields(given)?;
    let rules = match question.rules {
        RulesName::DraftFielding => ResolutionRules::DraftFielding,
        RulesName::Rfc3986 => ResolutionRules::Rfc3986,
        RulesName::Whatwg => ResolutionRules::Browser,
    };
    Ok(resolve(&question.base, &question.reference, rules)?.to_string().into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UriQuestion {
    uri: String,
    #[serde(rename = "do")]
    what: UriVerb,
    /// Whether characters that RFC 3986 forbids are accepted.
    #[serde(default)]
    relaxed: bool,
    /// Whether a relative reference is accepted too.
    #[serde(default)]
    relative: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum UriVerb {
    Parse,
    Decode,
    Form,
}

fn uri(given: &Value) -> UrlAnswer {
    let question: UriQuestion = fields(given)?;
    let grammar = if question.relaxed { Grammar::Relaxed } else { Grammar::Strict };
    let uri = if question.relative {
        Uri::parse_reference(&question.uri, grammar)?
    } else {
        Uri::parse(&question.uri, grammar)?
    };
    Ok(match question.what {
        UriVerb::Parse => parts(&uri),
        UriVerb::Decode => decoded(&uri.decode_fields()),
        UriVerb::Form => uri.form().into(),
    })
}

fn parts(uri: &Uri) -> Value {
    let host_kind = uri.host_kind().map(|kind| match kind {
        HostKind::Ipv4 => "ipv4",
        HostKind::Ipv6 => "ipv6",
        HostKind::IpFuture => "ipvfuture",
        HostKind::Name => "name",
    });
    json!({
        "scheme": uri.scheme(), "userinfo": uri.userinfo(), "host": uri.host(),
        "host_kind": host_kind, "port": uri.port(), "rooted": uri.is_rooted(),
        "segments": uri.segments(), "query": uri.query(), "fragment": uri.fragment(),
    })
}

fn decoded(fields: &UriFields) -> Value {
    let authority = fields.authority.as_ref();
    let host = authority.map(|authority| match &authority.host {
        HostField::Literal(literal) => literal.clone().into(),
        HostField::Name(name) => decoded_text(name),
    });
    let userinfo = authority.and_then(|authority| authority.userinfo.as_ref());
    let userinfo =
        userinfo.map(|parts| parts.iter().map(|part| decoded_text(part)).collect::<Value>());
    let fragment = fields.fragment.as_ref().map(|fragment| {
        json!({
            "text": decoded_text(&fragment.text),
            "query": fragment.query.as_deref().map(pairs),
        })
    });
    json!({
        "scheme": fields.scheme,
        "userinfo": userinfo,
        "host": host,
        "port": authority.and_then(|authority| authority.port.as_ref()),
        "rooted": fields.path.rooted,
        "segments": fields.path.segments.iter().map(|part| decoded_text(part)).collect::<Value>(),
        "query": fields.query.as_deref().map(pairs),
        "fragment": fragment,
    })
}

fn pairs(pairs: &[Pair]) -> Value {
    let pair =
        |pair: &Pair| json!([decoded_text(&pair.name), pair.value.as_deref().map(decoded_text)]);
    pairs.iter().map(pair).collect()
}

/// Returns decoded bytes as text, or in hex as an object if they are not valid UTF-8.
fn decoded_text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": hex::encode(bytes) }),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PdfQuestion {
    Url(String),
    Fields(PdfFields),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PdfFields {
    url: String,
    #[serde(default)]
    base: Option<String>,
}

fn pdf(given: &Value) -> UrlAnswer {
    let PdfFields { url, base } = match fields(given)? {
        PdfQuestion::Url(url) => PdfFields { url, base: None },
        PdfQuestion::Fields(fields) => fields,
    };
    let canonical = pdf_canonical(&url, base.as_deref())?;
    let id = pdf_identifier(&canonical, None);
    Ok(json!({ "canonical": canonical, "id": id }))
}

fn found(given: &Value) -> UrlAnswer {
    let text: String = fields(given)?;
    let found = extract(&text).map(|found| {
        json!({
            "url": found.url, "start": found.span.start, "end": found.span.end,
            "unhyphenated": found.unhyphenated,
        })
    });
    Ok(found.collect())
}

fn fields<T: DeserializeOwned>(given: &Value) -> Result<T, Unanswerable> {
    T::deserialize(given).map_err(|error| Unanswerable(format!("\"in\": {error}")))
}
