//! JSON documents: web app manifests and import maps.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::gather::Collector;
use super::{Class, MAX_HELD, Truncation};

/// The maximum number of names in a map.
const MAX_NAMES: usize = 10_000;

/// A parser for a manifest, which is buffered to its end.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    held: String,
    is_long: bool,
}

impl Manifest {
    pub(super) fn write(&mut self, text: &str, gather: &mut Collector) {
        self.is_long |= self.held.len() + text.len() > MAX_HELD;
        if self.is_long {
            gather.cut(Truncation::Memory);
            self.held = String::new();
        } else {
            self.held.push_str(text);
        }
    }

    pub(super) fn finish(self, gather: &mut Collector) {
        if self.is_long {
            return;
        }
        let Ok(Value::Object(manifest)) = serde_json::from_str(&self.held) else {
            gather.cut(Truncation::Malformed);
            return;
        };
        images(&manifest, "icons", Class::Icon, gather);
        images(&manifest, "screenshots", Class::Preview, gather);
        if let Some(start) = manifest.get("start_url").and_then(Value::as_str) {
            gather.add(start, Class::Page);
        }
        for shortcut in list(&manifest, "shortcuts") {
            if let Some(url) = shortcut.get("url").and_then(Value::as_str) {
                gather.add(url, Class::Page);
            }
            images(shortcut, "icons", Class::Icon, gather);
        }
    }
}

fn list<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> {
    let items = object.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_object)
}

fn images(object: &Map<String, Value>, key: &str, class: Class, gather: &mut Collector) {
    for image in list(object, key) {
        if let Some(src) = image.get("src").and_then(Value::as_str) {
            gather.add(src, class);
        }
    }
}

/// The `imports` of `<script type="importmap">`: module names and their URLs.
#[derive(Clone, Debug, Default)]
pub(super) struct ImportMap {
    names: Arc<Vec<(String, String)>>,
}

impl ImportMap {
    /// Parses a map and reports all of its URLs, because modules in other scopes may use a name
    /// that no module here uses.
    pub(super) fn read(text: &str, gather: &mut Collector) -> Self {
        let Ok(Value::Object(map)) = serde_json::from_str(text) else { return Self::default() };
        let imports = map.get("imports").and_then(Value::as_object);
        let scopes = map.get("scopes").and_then(Value::as_object).into_iter().flatten();
        // The scope of a name depends on the importing module, which is not known here. So all URLs
        // are reported.
        let elsewhere = scopes.filter_map(|(_, names)| names.as_object()).flatten().take(MAX_NAMES);
        for url in elsewhere.filter_map(|(_, url)| url.as_str()) {
            if !url.ends_with('/') {
                gather.add(url, Class::Script);
            }
        }
        let mut names = Vec::new();
        for (name, url) in imports.into_iter().flatten().take(MAX_NAMES) {
            let Some(url) = url.as_str() else { continue };
            if !name.ends_with('/') {
                gather.add(url, Class::Script);
            }
            names.push((name.clone(), url.to_owned()));
        }
        Self { names: Arc::new(names) }
    }

    /// The URL of a module: by its full name, or by the longest prefix that ends in a slash. `None`
    /// if the map contains neither.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        let is_meant =
            |known: &str| known == name || known.ends_with('/') && name.starts_with(known);
        let (known, url) = self
            .names
            .iter()
            .filter(|(known, _)| is_meant(known))
            .max_by_key(|(known, _)| known.len())?;
        Some(format!("{url}{}", name.strip_prefix(known.as_str())?))
    }
}
