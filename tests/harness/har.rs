//! A HAR that is made from Chromium's messages about its requests, like the file that its developer
//! tools save ("Save all as HAR with content", sanitised). Headless Chromium has no developer
//! tools.
//!
//! Addresses, fields, sizes and times come from the `Network` messages of the browser, and the
//! bodies from `Network.getResponseBody`. Most phases in `timings` are made up. Text is stored as
//! text, other content in Base64. Cookies and logins are left out, as the tools do by default.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Chromium;

/// Fields that are left out of each head.
const SECRETS: [&str; 3] = ["cookie", "set-cookie", "authorization"];

/// The messages about one request.
#[derive(Default)]
struct RequestMessages {
    session: String,
    asked: Value,
    asked_more: Value,
    answered: Value,
    answered_more: Value,
    /// The decoded length in bytes.
    length: u64,
    ended: Value,
    is_redirect: bool,
}

impl Chromium {
    /// Waits until no request is pending and returns a HAR of all requests since
    /// [`listen`](Self::listen).
    #[track_caller]
    pub(crate) fn har(&mut self, what: &str) -> Value {
        let told = collect(&self.told(what));
        let entries: Vec<Value> = told.iter().map(|one| self.entry(one)).collect();
        json!({"log": {
            "version": "1.2",
            "creator": {"name": "WebInspector", "version": "537.36"},
            "pages": [{
                "startedDateTime": entries[0]["startedDateTime"],
                "id": "page_1",
                "title": entries[0]["request"]["url"],
                "pageTimings": {"onContentLoad": null, "onLoad": null},
            }],
            "entries": entries,
        }})
    }

    #[track_caller]
    fn entry(&mut self, told: &RequestMessages) -> Value {
        let (asked, answered) = (&told.asked["request"], &told.answered);
        let begun = told.asked["wallTime"].as_f64().unwrap();
        let begun = Timestamp::from_microsecond((begun * 1e6) as i64).unwrap();
        let time = |value: &Value| value["timestamp"].as_f64();
        let took = time(&told.ended).map(|end| (end - time(&told.asked).unwrap()) * 1e3);
        let (sent, came) = (told.asked_more.get("headers"), told.answered_more.get("headers"));
        let version = answered["protocol"].as_str().unwrap_or("http/0.9");
        let mut request = json!({
            "method": asked["method"],
            "url": asked["url"],
            "httpVersion": version,
            "headers": fields(sent.unwrap_or(&asked["headers"])),
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": asked["postData"].as_str().map_or(0, str::len),
        });
        if let Some(text) = asked["postData"].as_str() {
            let kind = &asked["headers"]["Content-Type"];
            request["postData"] = json!({"mimeType": kind, "text": text});
        }
        let transferred = &told.ended["encodedDataLength"];
        json!({
            "_connectionId": answered["connectionId"].to_string(),
            "_initiator": told.asked["initiator"],
            "_priority": asked["initialPriority"],
            "_resourceType": told.asked["type"].as_str().unwrap_or_default().to_lowercase(),
            "cache": {},
            "pageref": "page_1",
            "request": request,
            "response": {
                "status": answered["status"].as_u64().unwrap_or_default(),
                "statusText": answered["statusText"].as_str().unwrap_or_default(),
                "httpVersion": version,
                "headers": fields(came.unwrap_or(&answered["headers"])),
                "cookies": [],
                "content": self.content(told),
                "redirectURL": answered["headers"]["Location"].as_str().unwrap_or_default(),
                "headersSize": -1,
                "bodySize": -1,
                "_transferSize": transferred.as_f64().unwrap_or_default(),
                "_error": told.ended["errorText"],
                "_fetchedViaServiceWorker": false,
            },
            "serverIPAddress": answered["remoteIPAddress"],
            "startedDateTime": begun.to_string(),
            "time": took.unwrap_or_default(),
            "timings": {
                "blocked": 0.4, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1,
                "wait": took.unwrap_or_default(), "receive": 0.1, "_blocked_queueing": 0.4,
                "_workerStart": -1, "_workerReady": -1, "_workerFetchStart": -1,
                "_workerRespondWithSettled": -1,
            },
        })
    }

    fn content(&mut self, told: &RequestMessages) -> Value {
        let mime = told.answered["mimeType"].as_str().unwrap_or("x-unknown");
        let mut content = json!({"size": told.length, "mimeType": mime});
        if told.is_redirect || told.ended["errorText"].is_string() {
            return content;
        }
        let wanted = json!({"requestId": told.asked["requestId"]});
        let body = self.command_to(&told.session, "Network.getResponseBody", &wanted);
        if let Some(text) = body["body"].as_str() {
            content["text"] = text.into();
            if body["base64Encoded"] == json!(true) {
                content["encoding"] = "base64".into();
            }
        }
        content
    }
}

/// Combines the messages about each request. A redirect and its target have the same number.
fn collect(messages: &[Value]) -> Vec<RequestMessages> {
    let mut all: Vec<RequestMessages> = Vec::new();
    let mut known = BTreeMap::new();
    // Additional messages may come before the main message of a request.
    let mut more: BTreeMap<(String, &str), Vec<Value>> = BTreeMap::new();
    for message in messages {
        let (method, told) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let id = told["requestId"].as_str().unwrap_or_default().to_owned();
        match method {
            "Network.requestWillBeSent" => {
                if let Some(before) = known.get(&id).and_then(|at: &usize| all.get_mut(*at)) {
                    before.answered = told["redirectResponse"].clone();
                    before.ended = json!({"timestamp": told["timestamp"]});
                    before.is_redirect = true;
                }
                let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
                known.insert(id, all.len());
                all.push(RequestMessages {
                    session,
                    asked: told.clone(),
                    ..RequestMessages::default()
                });
                continue;
            }
            "Network.requestWillBeSentExtraInfo" => {
                more.entry((id, "asked")).or_default().push(told.clone());
                continue;
            }
            "Network.responseReceivedExtraInfo" => {
                more.entry((id, "answered")).or_default().push(told.clone());
                continue;
            }
            _ => {}
        }
        let Some(one) = known.get(&id).and_then(|at: &usize| all.get_mut(*at)) else { continue };
        match method {
            "Network.responseReceived" => one.answered = told["response"].clone(),
            "Network.dataReceived" => one.length += told["dataLength"].as_u64().unwrap(),
            "Network.loadingFinished" | "Network.loadingFailed" => one.ended = told.clone(),
            _ => {}
        }
    }
    for one in &mut all {
        let id = one.asked["requestId"].as_str().unwrap_or_default().to_owned();
        let mut next = |which| {
            let told = more.get_mut(&(id.clone(), which)).filter(|told| !told.is_empty());
            told.map_or(Value::Null, |told| told.remove(0))
        };
        (one.asked_more, one.answered_more) = (next("asked"), next("answered"));
    }
    all
}

fn fields(fields: &Value) -> Vec<Value> {
    let fields = fields.as_object().into_iter().flatten();
    let told = fields.filter(|(name, _)| !SECRETS.contains(&name.to_lowercase().as_str()));
    told.map(|(name, value)| json!({"name": name, "value": value})).collect()
}
