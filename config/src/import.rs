//! Conversion of a configuration of WWWOFFLE 2.9.
//!
//! Comments are preserved. Lines without a counterpart are listed with the reason and become
//! comments. Each converted line is first parsed alone as a configuration, and left out if it has a
//! fault. So the new text has no faults.

mod grammar;
mod sheet;
mod table;
mod values;

use crate::{
    disk::{MAX_CONFIG, MAX_LIST, read_classic, write_new},
    edit::quoted,
    error::{Fault, Faults},
    pattern::spec::UrlSpec,
    schema::Config,
};
use grammar::{NumberedLine, OldItem, OldLine, OldPart};
use sheet::{ConfigDraft, SheetLine};
use std::{
    collections::HashSet,
    fmt,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};
use table::{Counterpart, ListenKey, home, target};
use values::{HTTPS_IS_STORED, convert_bool, is_none};

/// A converted configuration of 2.9.
///
/// ```no_run
/// use std::path::Path;
/// use wwwoffle_config::ImportedConfig;
///
/// let imported = ImportedConfig::load(Path::new("wwwoffle-2.9.conf"))?;
/// println!("{}", imported.text());
/// for left_out in imported.left_out() {
///     eprintln!("{left_out}");
/// }
/// # Ok::<(), wwwoffle_config::Faults>(())
/// ```
#[derive(Debug)]
pub struct ImportedConfig {
    text: String,
    left_out: Vec<SkippedLine>,
}

/// A line of the old configuration that has no counterpart in the new one.
///
/// Displayed as `old.conf:12: "lock-files = yes" is left out: one download is shared by all clients
/// that request it`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    file: PathBuf,
    line: usize,
    text: String,
    because: String,
}

impl fmt::Display for SkippedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, text, because } = self;
        write!(f, "{}:{line}: {text:?} is left out: {because}", file.display())
    }
}

impl ImportedConfig {
    /// Converts the configuration of 2.9 in `file`, and the files of sections that it names, which
    /// are in the same directory.
    ///
    /// # Errors
    ///
    /// One fault, if `file` cannot be read. An unreadable file of a section is left out.
    pub fn load(file: &Path) -> Result<Self, Faults> {
        let text = read_classic(file, MAX_CONFIG).map_err(|error| Fault::of_file(file, error))?;
        Ok(Self::of(&text, file, |name| {
            // "[file]" names a file in the same directory; 2.9 does not read files in other
            // directories.
            let name = Path::new(name).file_name().ok_or("it has no name")?;
            let path = file.with_file_name(name);
            let text = read_classic(&path, MAX_LIST).map_err(|error| error.to_string())?;
            Ok((path, text))
        }))
    }

    /// Converts `text`; `section_file` returns the files of sections by name.
    fn of(
        text: &str,
        file: &Path,
        section_file: impl Fn(&str) -> Result<(PathBuf, String), String>,
    ) -> Self {
        let mut import = Importer::default();
        for part in grammar::parts(text) {
            match part {
                OldPart::Outside((line, content)) => {
                    import.import_outside_line(file, line, content);
                }
                OldPart::Section { name, lines, .. } => import.section(name, file, lines),
                OldPart::Elsewhere { name, line, file: wanted } => match section_file(&wanted) {
                    Ok((path, text)) => import.section(name, &path, grammar::lines(&text)),
                    Err(because) => {
                        import.skip_line(file, line, format!("{name} [{wanted}]"), because);
                        import.end(home(name));
                    }
                },
            }
        }
        import.finish(file)
    }

    /// The converted text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes the text to `file`, which must not exist. Only its owner can read it, because it may
    /// contain the password for a parent proxy.
    ///
    /// # Errors
    ///
    /// One fault, if `file` exists or cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), Faults> {
        write_new(file, &self.text).map_err(|error| Fault::of_file(file, error).into())
    }

    /// The lines that were left out, in the order of the file. Lines about listening addresses are
    /// last.
    #[must_use]
    pub fn left_out(&self) -> &[SkippedLine] {
        &self.left_out
    }
}

#[derive(Default)]
struct Importer {
    sheet: ConfigDraft,
    left_out: Vec<SkippedLine>,
    /// Comments and empty lines that belong to the next line.
    above: Vec<String>,
    /// Options that are already set for every URL. A later line for such an option has no effect,
    /// because the first match decides.
    settled: HashSet<(&'static str, String)>,
    listen: Vec<ListenLine>,
}

impl Importer {
    fn import_outside_line(&mut self, file: &Path, line: usize, content: OldLine) {
        match content {
            OldLine::Blank => self.above.push(String::new()),
            OldLine::Comment(text) => self.above.push(text),
            OldLine::OldItem(OldItem { text, .. }) => {
                self.skip_line(file, line, text, "it is outside every section".to_owned());
            }
            OldLine::Wrong { text, because } => {
                self.skip_line(file, line, text, because.to_owned());
            }
        }
    }

    fn section(&mut self, name: &'static str, file: &Path, lines: Vec<NumberedLine>) {
        for (line, content) in lines {
            match content {
                OldLine::Blank => self.above.push(String::new()),
                OldLine::Comment(text) => self.above.push(text),
                OldLine::Wrong { text, because } => {
                    self.skip_line(file, line, text, because.to_owned());
                }
                OldLine::OldItem(item) => {
                    if let Some(part) = listens(name, &item) {
                        self.listen.push(ListenLine { part, file: file.to_owned(), line, item });
                    } else if let Err((text, because)) = self.item(name, &item) {
                        self.skip_line(file, line, text, because);
                    }
                }
            }
        }
        self.end(home(name));
    }

    /// Ends a section. Comments after its last line stay at the end.
    fn end(&mut self, section: &str) {
        let left = std::mem::take(&mut self.above);
        self.sheet.comment(section, left.into_iter().skip_while(String::is_empty).collect());
    }

    /// Converts a setting. Returns as an error the text that is left out, and the reason.
    fn item(&mut self, section: &'static str, item: &OldItem) -> Result<(), (String, String)> {
        let (section, put) = self.refuse_untunnelled(convert_setting(section, item)?);
        // A refused line has no effect, so later lines for the same option stay effective.
        if let Some(because) = fault(section, &put).or_else(|| self.is_dead(section, &put)) {
            return Err((item.text.clone(), because));
        }
        let above = std::mem::take(&mut self.above);
        // In 2.9 an exception from tunnels applies wherever it stands. Here the first match
        // decides, so the exception goes first.
        match &put {
            SheetLine::Member { key: "tunnel", value } if value.contains('!') => {
                self.sheet.put_first(section, above, put);
            }
            _ => self.sheet.put(section, above, put),
        }
        Ok(())
    }

    /// Turns an exception from tunnels into a refusal if HTTPS is not intercepted, because 2.9
    /// refuses HTTPS that it may neither tunnel nor intercept.
    fn refuse_untunnelled(&self, placed: (&'static str, SheetLine)) -> (&'static str, SheetLine) {
        match placed {
            ("https", SheetLine::Member { key: "tunnel", value })
                if value.contains('!') && !self.sheet.intercepts() =>
            {
                ("https", SheetLine::Member { key: "refuse", value: value.replacen('!', "", 1) })
            }
            placed => placed,
        }
    }

    /// Returns the reason why a line would have no effect, if there is one. If the line sets its
    /// option for every URL, records this option.
    fn is_dead(&mut self, section: &'static str, put: &SheetLine) -> Option<String> {
        let (key, settles) = match put {
            SheetLine::Member { .. } => return None,
            SheetLine::Option { key, .. } => ((*key).to_owned(), true),
            SheetLine::Field { key, name, .. } => {
                (format!("{key}/{}", name.to_ascii_lowercase()), true)
            }
            SheetLine::Rule { key, .. } => ((*key).to_owned(), false),
        };
        let dead = self.settled.contains(&(section, key.clone()));
        if settles {
            self.settled.insert((section, key));
        }
        dead.then(|| "a line above it applies to every URL, and the first match decides".to_owned())
    }

    /// Leaves a line out. `text`, from which the caller has removed secrets, stays as a comment in
    /// its place.
    fn skip_line(&mut self, file: &Path, line: usize, text: String, because: String) {
        self.above.push(format!("# 2.9: {text}"));
        self.above.push(format!("# left out: {because}"));
        self.left_out.push(SkippedLine { file: file.to_owned(), line, text, because });
    }

    fn finish(mut self, file: &Path) -> ImportedConfig {
        let ending = std::mem::take(&mut self.above);
        self.combine_addresses();
        let heading = [
            format!("# Converted from {} of WWWOFFLE 2.9 by `wwwoffle config import`.", name_of(file)),
            "# Options that are not set here have their defaults, which may differ from those of 2.9."
                .to_owned(),
        ];
        let ending: Vec<_> = ending.into_iter().skip_while(String::is_empty).collect();
        ImportedConfig { text: self.sheet.into_text(&heading, &ending), left_out: self.left_out }
    }

    /// Combines the listening addresses. An address that other machines can reach is left out
    /// unless the file names machines that may connect.
    fn combine_addresses(&mut self) {
        let listed = std::mem::take(&mut self.listen);
        let Some(last) = listed.last() else { return };
        let (file, line) = (last.file.clone(), last.line);
        let of = |part| listed.iter().find(|listed| listed.part == part);
        let port: u16 = match of(ListenKey::Port).map(|listed| listed.value().parse()) {
            None => DEFAULT_PORT,
            Some(Ok(port)) => port,
            Some(Err(_)) => {
                let because = "expected a port".to_owned();
                self.skip_line(&file, line, "http-port".to_owned(), because);
                DEFAULT_PORT
            }
        };
        let mut addresses = Vec::new();
        let mut is_shared = false;
        for listed in [of(ListenKey::V4), of(ListenKey::V6)].into_iter().flatten() {
            if is_none(listed.value()) {
                continue;
            }
            let because = match listed.value().parse::<IpAddr>() {
                Ok(address) if address.is_loopback() || self.sheet.allows_other_machines() => {
                    is_shared |= !address.is_loopback();
                    addresses.push(quoted(&SocketAddr::new(address, port).to_string()));
                    continue;
                }
                Ok(_) => "without [allowed-connect-hosts] only this machine may connect",
                Err(_) => "expected an address",
            };
            let text = listed.item.text.clone();
            self.skip_line(&listed.file, listed.line, text, because.to_owned());
        }
        if addresses.is_empty() {
            addresses.push(quoted(&SocketAddr::from(([127, 0, 0, 1], port)).to_string()));
        }
        let above = std::mem::take(&mut self.above);
        let put = SheetLine::Option { key: "listen", value: format!("[{}]", addresses.join(", ")) };
        self.sheet.put("startup", above, put);
        if is_shared {
            // A password of 2.9 cannot be converted. Other machines could use the proxy of 2.9, so
            // they are allowed here without a password.
            let why = "Add a control password (`wwwoffle passwd`), and remove the next line.";
            let put = SheetLine::Option { key: "share-without-password", value: "true".to_owned() };
            self.sheet.put("startup", vec![format!("# {why}")], put);
        }
    }
}

/// The default port of 2.9 and of this version.
const DEFAULT_PORT: u16 = 8080;

/// A part of the listening addresses, with its location.
struct ListenLine {
    part: ListenKey,
    file: PathBuf,
    line: usize,
    item: OldItem,
}

impl ListenLine {
    fn value(&self) -> &str {
        self.item.value.as_deref().unwrap_or_default()
    }
}

fn listens(section: &str, item: &OldItem) -> Option<ListenKey> {
    match target(section, &item.key) {
        Some(Counterpart::Listen(part)) => Some(part),
        _ => None,
    }
}

/// The converted form of a line, or the text that is left out and the reason.
fn convert_setting(
    section: &'static str,
    item: &OldItem,
) -> Result<(&'static str, SheetLine), (String, String)> {
    let refuse = |because: &str| (item.text.clone(), because.to_owned());
    let given = item.value.as_deref();
    match target(section, &item.key) {
        None => convert_free_name(section, item).ok_or_else(|| refuse("2.9 has no such option")),
        // `combine_addresses` joins the addresses later.
        Some(Counterpart::Listen(_)) => Err(refuse("it is combined with other lines")),
        Some(Counterpart::Gone(because)) => Err(refuse(&as_reason(because))),
        Some(Counterpart::Secret(because)) => {
            let shown = given.map_or_else(|| "…".to_owned(), |_| format!("{} = …", item.key));
            Err((shown, because.to_owned()))
        }
        Some(Counterpart::Option(ours, key, convert)) => {
            let value = given.ok_or_else(|| refuse("it has no value"))?;
            let value = convert(value).map_err(refuse)?;
            Ok((ours, rule_line(item, key, value)))
        }
        Some(Counterpart::Member(ours, key)) => {
            // In 2.9 the values of `[DontCompress]` are separate lines instead of a list: `file-ext
            // = .gz`.
            let member = given.filter(|_| section == "DontCompress");
            Ok((ours, SheetLine::Member { key, value: quoted(member.unwrap_or(&item.text)) }))
        }
        Some(Counterpart::Tunnel { negated }) => {
            let not = if negated { "!" } else { "" };
            let host = given.ok_or_else(|| refuse("it has no value"))?;
            if !negated && matches!(host, "*" | "*:443" | "*:*") {
                return Err(refuse(HTTPS_IS_STORED));
            }
            let value = quoted(&format!("{not}https://{host}/"));
            Ok(("https", SheetLine::Member { key: "tunnel", value }))
        }
    }
}

fn rule_line(item: &OldItem, key: &'static str, value: String) -> SheetLine {
    match &item.spec {
        Some(spec) => SheetLine::Rule { spec: quoted(spec), key, value },
        None => SheetLine::Option { key, value },
    }
}

/// Converts a line of a section whose keys are free names: header fields, file extensions or URLs.
/// `None` for any other line.
fn convert_free_name(section: &'static str, item: &OldItem) -> Option<(&'static str, SheetLine)> {
    let value = item.value.as_deref()?;
    match section {
        "CensorHeader" => {
            let value = convert_bool(value).unwrap_or_else(|_| quoted(value));
            let name = quoted(&item.key);
            Some((
                "censor-header",
                match &item.spec {
                    None => SheetLine::Field { key: "headers", name, value },
                    Some(spec) => {
                        let value = format!("{{ {name} = {value} }}");
                        SheetLine::Rule { spec: quoted(spec), key: "headers", value }
                    }
                },
            ))
        }
        "MIMETypes" if item.key.starts_with('.') => {
            let (name, value) = (quoted(&item.key), quoted(value));
            Some(("mime-types", SheetLine::Field { key: "types", name, value }))
        }
        "Alias" => {
            let (from, to) = (url_prefix(&item.key), url_prefix(value));
            let value = format!("{{ from = {}, to = {} }}", quoted(from), quoted(to));
            Some(("alias", SheetLine::Member { key: "urls", value }))
        }
        _ => None,
    }
}

/// The URL prefix that a pattern of 2.9 stands for. In 2.9, `/*` at the end of a pattern means any
/// path.
fn url_prefix(spec: &str) -> &str {
    spec.strip_suffix('*').filter(|rest| rest.ends_with('/')).unwrap_or(spec)
}

/// The fault of a converted line that is parsed on its own. `None` if it has no fault.
fn fault(section: &'static str, put: &SheetLine) -> Option<String> {
    if let SheetLine::Member { key: "urls", value } = put
        && matches!(section, "dont-get" | "dont-cache")
    {
        // These lists can be long, and the full parser is slow.
        let spec: toml_edit::Value = value.parse().ok()?;
        return UrlSpec::parse(spec.as_str()?).err().map(|error| error.to_string());
    }
    let mut sheet = ConfigDraft::default();
    sheet.put(section, Vec::new(), put.clone());
    let faults = Config::parse(&sheet.into_text(&[], &[]), Path::new("")).err()?;
    faults.as_slice().first().map(Fault::message)
}

/// Converts a sentence for use after a colon: removes the full stop, and makes the first letter
/// lower case unless the sentence begins with an abbreviation.
fn as_reason(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(sentence.chars().skip(1)).collect()
        }
        _ => sentence.to_owned(),
    }
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().chars().filter(|c| !c.is_control()).collect()
}
