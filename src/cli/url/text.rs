//! Our own URL functions. Their strings are text.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use wwwoffle_spool::Place;
use wwwoffle_url::{
    AbarthUrl, AuthorityFields, BrowserUrl, CanonicalUrl, FragmentFields, Grammar, HostField,
    HostKind, LocalHost, Pair, PathFields, ResolutionRules, Uri, UriFields, extract, pdf_canonical,
    pdf_identifier, resolve,
};

use super::{Unanswerable, UrlAnswer};

/// Answers a question for one of our functions; `None` if there is no such function.
pub(super) fn answer(function: &str, given: &Value, local: &LocalHost) -> Option<UrlAnswer> {
    Some(match function {
        "canonical" => canonical(given, local),
        "reference" => reference(given),
        "uri" => uri(given),
        "browser" => browser(given),
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
    #[serde(rename = "abarth-01", alias = "draft-abarth")]
    DraftAbarth,
    #[serde(alias = "browser", alias = "browsers")]
    Whatwg,
}

fn reference(given: &Value) -> UrlAnswer {
    let question: ReferenceQuestion = fields(given)?;
    let rules = match question.rules {
        RulesName::DraftFielding => ResolutionRules::DraftFielding,
        RulesName::Rfc3986 => ResolutionRules::Rfc3986,
        RulesName::DraftAbarth => ResolutionRules::DraftAbarth,
        RulesName::Whatwg => ResolutionRules::Browser,
    };
    Ok(resolve(&question.base, &question.reference, rules)?.to_string().into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UriQuestion {
    #[serde(rename = "do")]
    what: UriVerb,
    uri: Option<String>,
    /// The parts to join, or the fields to encode, in place of a URI.
    fields: Option<Value>,
    /// Whether characters that RFC 3986 forbids are accepted.
    #[serde(default)]
    relaxed: bool,
    /// Whether a relative reference is accepted too.
    #[serde(default)]
    relative: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UriVerb {
    Parse,
    Decode,
    Encode,
    Form,
}

fn uri(given: &Value) -> UrlAnswer {
    let question: UriQuestion = fields(given)?;
    let grammar = if question.relaxed { Grammar::Relaxed } else { Grammar::Strict };
    let parse = |text: &str| {
        if question.relative {
            Uri::parse_reference(text, grammar)
        } else {
            Uri::parse(text, grammar)
        }
    };
    match (question.what, &question.uri, &question.fields) {
        (UriVerb::Parse, Some(uri), None) => value(UriParts::of(&parse(uri)?)),
        (UriVerb::Decode, Some(uri), None) => value(DecodedUri::of(parse(uri)?.decode_fields())),
        (UriVerb::Form, Some(uri), None) => Ok(parse(uri)?.form().into()),
        (UriVerb::Form, None, Some(given)) => {
            let parts = UriParts { host_kind: None, ..fields(given)? };
            let text = parts.join();
            // The parts must not contain delimiters that would divide them in another way.
            if (UriParts { host_kind: None, ..UriParts::of(&parse(&text)?) }) != parts {
                return Err(Unanswerable("the parts would be read as others: encode them".into()));
            }
            Ok(text.into())
        }
        (UriVerb::Encode, None, Some(given)) => {
            let fields: DecodedUri = fields(given)?;
            value(UriParts::of(&fields.into_fields()?.encode()?))
        }
        _ => Err(Unanswerable(
            "parse and decode take a \"uri\", encode takes \"fields\", and form takes one of the two"
                .into(),
        )),
    }
}

fn value(answer: impl Serialize) -> UrlAnswer {
    Ok(serde_json::to_value(answer)?)
}

/// The parts of a URI as written.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UriParts {
    scheme: Option<String>,
    userinfo: Option<String>,
    host: Option<String>,
    host_kind: Option<String>,
    port: Option<String>,
    rooted: bool,
    segments: Vec<String>,
    query: Option<String>,
    fragment: Option<String>,
}

impl UriParts {
    fn of(uri: &Uri) -> Self {
        let host_kind = uri.host_kind().map(|kind| match kind {
            HostKind::Ipv4 => "ipv4",
            HostKind::Ipv6 => "ipv6",
            HostKind::IpFuture => "ipvfuture",
            HostKind::Name => "name",
        });
        Self {
            scheme: uri.scheme().map(str::to_owned),
            userinfo: uri.userinfo().map(str::to_owned),
            host: uri.host().map(str::to_owned),
            host_kind: host_kind.map(str::to_owned),
            port: uri.port().map(str::to_owned),
            rooted: uri.is_rooted(),
            segments: uri.segments().to_vec(),
            query: uri.query().map(str::to_owned),
            fragment: uri.fragment().map(str::to_owned),
        }
    }

    /// Joins the parts (RFC 3986 §5.3).
    fn join(&self) -> String {
        let before = |part: &Option<String>, end: &str| {
            part.as_ref().map_or_else(String::new, |part| part.clone() + end)
        };
        let after = |start: &str, part: &Option<String>| {
            part.as_ref().map_or_else(String::new, |part| start.to_owned() + part)
        };
        let authority = self
            .host
            .as_ref()
            .map(|host| format!("{}{host}{}", before(&self.userinfo, "@"), after(":", &self.port)));
        format!(
            "{}{}{}{}{}{}",
            before(&self.scheme, ":"),
            after("//", &authority),
            if self.rooted { "/" } else { "" },
            self.segments.join("/"),
            after("?", &self.query),
            after("#", &self.fragment)
        )
    }
}

/// The decoded fields of a URI.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DecodedUri {
    scheme: Option<String>,
    userinfo: Option<Vec<DecodedText>>,
    host: Option<DecodedText>,
    port: Option<String>,
    rooted: bool,
    segments: Vec<DecodedText>,
    query: Option<Vec<(DecodedText, Option<DecodedText>)>>,
    fragment: Option<DecodedFragment>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecodedFragment {
    text: DecodedText,
    #[serde(default)]
    query: Option<Vec<(DecodedText, Option<DecodedText>)>>,
}

/// Decoded bytes: a text, or hex digits if they are not valid UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum DecodedText {
    Text(String),
    Hex { hex: String },
}

impl From<Vec<u8>> for DecodedText {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Hex { hex: hex::encode(error.as_bytes()) },
        }
    }
}

impl DecodedText {
    fn bytes(self) -> Result<Vec<u8>, Unanswerable> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Hex { hex } => Ok(hex::decode(hex)?),
        }
    }
}

impl DecodedUri {
    fn of(fields: UriFields) -> Self {
        let texts = |all: Vec<Vec<u8>>| all.into_iter().map(DecodedText::from).collect();
        let pairs = |all: Vec<Pair>| {
            all.into_iter().map(|pair| (pair.name.into(), pair.value.map(Into::into))).collect()
        };
        let mut decoded = Self {
            scheme: fields.scheme,
            rooted: fields.path.rooted,
            segments: texts(fields.path.segments),
            query: fields.query.map(pairs),
            fragment: fields.fragment.map(|fragment| DecodedFragment {
                text: fragment.text.into(),
                query: fragment.query.map(pairs),
            }),
            ..Self::default()
        };
        if let Some(authority) = fields.authority {
            decoded.userinfo = authority.userinfo.map(texts);
            decoded.host = Some(match authority.host {
                HostField::Literal(literal) => DecodedText::Text(literal),
                HostField::Name(name) => name.into(),
            });
            decoded.port = authority.port;
        }
        decoded
    }

    fn into_fields(self) -> Result<UriFields, Unanswerable> {
        let texts = |all: Vec<DecodedText>| {
            all.into_iter().map(DecodedText::bytes).collect::<Result<_, _>>()
        };
        let pairs = |all: Vec<(DecodedText, Option<DecodedText>)>| {
            let pair = |(name, value): (DecodedText, Option<DecodedText>)| {
                let value = value.map(DecodedText::bytes).transpose()?;
                Ok::<_, Unanswerable>(Pair { name: name.bytes()?, value })
            };
            all.into_iter().map(pair).collect::<Result<_, _>>()
        };
        let host = self.host.map(|host| match host {
            DecodedText::Text(literal) if literal.starts_with('[') => {
                Ok(HostField::Literal(literal))
            }
            name => name.bytes().map(HostField::Name),
        });
        if host.is_none() && (self.userinfo.is_some() || self.port.is_some()) {
            return Err(Unanswerable("\"userinfo\" and \"port\" need a \"host\"".into()));
        }
        let userinfo = self.userinfo.map(texts).transpose()?;
        let authority = host.transpose()?;
        let authority = authority.map(|host| AuthorityFields { userinfo, host, port: self.port });
        let fragment = self.fragment.map(|fragment| {
            let query = fragment.query.map(pairs).transpose()?;
            Ok::<_, Unanswerable>(FragmentFields { text: fragment.text.bytes()?, query })
        });
        Ok(UriFields {
            scheme: self.scheme,
            authority,
            path: PathFields { rooted: self.rooted, segments: texts(self.segments)? },
            query: self.query.map(pairs).transpose()?,
            fragment: fragment.transpose()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BrowserQuestion {
    url: String,
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    rules: BrowserRules,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BrowserRules {
    #[default]
    Whatwg,
    #[serde(rename = "abarth-01", alias = "draft-abarth")]
    DraftAbarth,
}

/// Reads a URL as a browser does, and returns its components.
fn browser(given: &Value) -> UrlAnswer {
    let BrowserQuestion { url, base, rules } = fields(given)?;
    match rules {
        BrowserRules::Whatwg => {
            let base = base.as_deref().map(str::parse::<BrowserUrl>).transpose()?;
            let url = BrowserUrl::parse(&url, base.as_ref())?;
            Ok(json!({
                "url": url.as_str(), "scheme": url.scheme(), "user": url.username(),
                "password": url.password().unwrap_or_default(), "host": url.host(),
                "port": url.port(), "path": url.path(), "query": url.query(),
                "fragment": url.fragment(),
            }))
        }
        BrowserRules::DraftAbarth => {
            let text = match base {
                Some(base) => resolve(&base, &url, ResolutionRules::DraftAbarth)?.to_string(),
                None => url,
            };
            let invalid = || Unanswerable("the URL has no scheme".to_owned());
            let url = AbarthUrl::parse(&text).ok_or_else(invalid)?;
            Ok(json!({
                "url": url.to_string(), "scheme": url.scheme, "user": url.user,
                "password": url.password, "host": url.host, "port": url.port, "path": url.path,
                "query": url.query, "fragment": url.fragment,
            }))
        }
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
    /// The captured content, which distinguishes versions of the page.
    #[serde(default)]
    content: Option<DecodedText>,
}

fn pdf(given: &Value) -> UrlAnswer {
    let PdfFields { url, base, content } = match fields(given)? {
        PdfQuestion::Url(url) => PdfFields { url, base: None, content: None },
        PdfQuestion::Fields(fields) => fields,
    };
    let canonical = pdf_canonical(&url, base.as_deref())?;
    let content = content.map(DecodedText::bytes).transpose()?;
    let id = pdf_identifier(&canonical, content.as_deref());
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
