//! The new text under construction: sections with their lines, each below its comments.

use crate::schema::SECTIONS;
use std::fmt::Write;

/// The converted form of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SheetLine {
    /// `key = value`.
    Option { key: &'static str, value: String },
    /// A member of the array `key`.
    Member { key: &'static str, value: String },
    /// A member `name = value` of the inline table `key`.
    Field { key: &'static str, name: String, value: String },
    /// A separate rule for the URLs of `spec`.
    Rule { spec: String, key: &'static str, value: String },
}

/// The sections of the new text.
#[derive(Debug)]
pub(super) struct ConfigDraft {
    /// A draft for each section of the schema, in its order.
    drafts: Vec<SectionDraft>,
}

#[derive(Debug)]
struct SectionDraft {
    name: &'static str,
    entries: Vec<SheetEntry>,
    /// The comments below the last line.
    below: Vec<String>,
}

#[derive(Debug)]
struct SheetEntry {
    above: Vec<String>,
    put: SheetLine,
}

impl Default for ConfigDraft {
    fn default() -> Self {
        let draft = |name| SectionDraft { name, entries: Vec::new(), below: Vec::new() };
        Self { drafts: SECTIONS.iter().map(|section| draft(section.name)).collect() }
    }
}

impl ConfigDraft {
    /// Adds the line `put` at the end of `section`, below the comments `above`.
    pub(super) fn put(&mut self, section: &str, above: Vec<String>, put: SheetLine) {
        if let Some(draft) = self.drafts.iter_mut().find(|draft| draft.name == section) {
            draft.entries.push(SheetEntry { above, put });
        }
    }

    /// Adds the line `put`, below the comments `above`, before all other lines of `section`.
    pub(super) fn put_first(&mut self, section: &str, above: Vec<String>, put: SheetLine) {
        if let Some(draft) = self.drafts.iter_mut().find(|draft| draft.name == section) {
            draft.entries.insert(0, SheetEntry { above, put });
        }
    }

    /// Adds comments at the end of `section`.
    pub(super) fn comment(&mut self, section: &str, comments: Vec<String>) {
        if let Some(draft) = self.drafts.iter_mut().find(|draft| draft.name == section) {
            draft.below.extend(comments);
        }
    }

    /// Whether the text allows other machines to use the proxy.
    pub(super) fn allows_other_machines(&self) -> bool {
        let draft = self.drafts.iter().find(|draft| draft.name == "allowed-connect-hosts");
        draft.is_some_and(|draft| !draft.entries.is_empty())
    }

    /// Whether the text turns the storing of HTTPS on.
    pub(super) fn intercepts(&self) -> bool {
        let draft = self.drafts.iter().find(|draft| draft.name == "https");
        draft.is_some_and(|draft| {
            draft.entries.iter().any(|entry| {
                matches!(&entry.put, SheetLine::Option { key: "intercept", value } if value == "true")
            })
        })
    }

    /// The whole text, with `heading` above it and `ending` below.
    pub(super) fn into_text(mut self, heading: &[String], ending: &[String]) -> String {
        let mut text = String::new();
        self.drafts.iter_mut().for_each(SectionDraft::close_up);
        lines(&mut text, heading);
        for draft in self.drafts {
            draft.write(&mut text);
        }
        if !ending.is_empty() {
            text.push('\n');
            lines(&mut text, ending);
        }
        text
    }
}

impl SectionDraft {
    /// Removes the empty lines above the first line of the section, of each of its arrays and of
    /// each rule.
    fn close_up(&mut self) {
        let mut begun = Vec::new();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let group = match &entry.put {
                SheetLine::Member { key, .. } => Some(*key),
                SheetLine::Option { .. } | SheetLine::Field { .. } | SheetLine::Rule { .. } => None,
            };
            // A rule is always written with one empty line above it.
            let is_rule = matches!(entry.put, SheetLine::Rule { .. });
            if number == 0 || is_rule || (group.is_some() && !begun.contains(&group)) {
                let empty = entry.above.iter().take_while(|line| line.is_empty()).count();
                entry.above.drain(..empty);
            }
            begun.push(group);
        }
    }

    fn write(&self, text: &mut String) {
        if self.entries.is_empty() && self.below.is_empty() {
            return;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        line(text, &format!("[{}]", self.name));
        for entry in &self.entries {
            if let SheetLine::Option { key, value } = &entry.put {
                lines(text, &entry.above);
                line(text, &format!("{key} = {value}"));
            }
        }
        self.write_arrays(text);
        self.write_tables(text);
        for entry in &self.entries {
            if let SheetLine::Rule { spec, key, value } = &entry.put {
                text.push('\n');
                lines(text, &entry.above);
                line(text, &format!("[[{}.for]]", self.name));
                line(text, &format!("url = {spec}"));
                line(text, &format!("{key} = {value}"));
            }
        }
        lines(text, &self.below);
    }

    fn write_arrays(&self, text: &mut String) {
        let keys = self.keys(|put| match put {
            SheetLine::Member { key, .. } => Some(key),
            _ => None,
        });
        for wanted in keys {
            line(text, &format!("{wanted} = ["));
            for entry in &self.entries {
                if let SheetLine::Member { key, value } = &entry.put
                    && *key == wanted
                {
                    let indented =
                        |comment: &String| format!("    {comment}").trim_end().to_owned();
                    lines(text, &entry.above.iter().map(indented).collect::<Vec<_>>());
                    line(text, &format!("    {value},"));
                }
            }
            line(text, "]");
        }
    }

    /// Writes the inline tables. Each table is on one line, so the comments of all its members
    /// precede it.
    fn write_tables(&self, text: &mut String) {
        let keys = self.keys(|put| match put {
            SheetLine::Field { key, .. } => Some(key),
            _ => None,
        });
        for wanted in keys {
            let mut fields = Vec::new();
            for entry in &self.entries {
                if let SheetLine::Field { key, name, value } = &entry.put
                    && *key == wanted
                {
                    lines(text, &entry.above);
                    fields.push(format!("{name} = {value}"));
                }
            }
            line(text, &format!("{wanted} = {{ {} }}", fields.join(", ")));
        }
    }

    /// Each key that `of` returns, in order, without duplicates.
    fn keys(&self, of: impl Fn(&SheetLine) -> Option<&&'static str>) -> Vec<&'static str> {
        let mut keys = Vec::new();
        for key in self.entries.iter().filter_map(|entry| of(&entry.put)) {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        keys
    }
}

/// Writes comments and empty lines. TOML allows no control characters in comments.
fn lines(text: &mut String, lines: &[String]) {
    for one in lines {
        line(text, &one.replace(|c: char| c.is_control() && c != '\t', " "));
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _written = writeln!(text, "{line}");
}
