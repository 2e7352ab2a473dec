//! The certificate databases of browsers: Chromium has one for each user, Firefox one for each
//! profile.
//!
//! They are NSS databases, changed by the `certutil` of NSS. Our entries are named after the
//! authority and its fingerprint: two authorities of one day have the same subject, and NSS returns
//! all certificates with one subject at once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::certificate::{AuthorityCertificate, MARK, OwnCertificates};
use super::plan::{ProgramCall, TrustPlan, TrustStep};
use crate::base::small_file;
use crate::cli::programs;

pub(super) const TOOL: &str = "certutil";

/// How to install the tool.
pub(in crate::cli) const REMEDY: &str = "certutil is missing: install libnss3-tools (Debian), nss-tools \
     (Fedora), nss (Arch) or mozilla-nss-tools (openSUSE)";

/// Paths of the databases of Chromium and its relatives, below the home directory.
const CHROMIUM: [&str; 8] = [
    ".pki/nssdb",
    "snap/chromium/current/.pki/nssdb",
    "snap/brave/current/.pki/nssdb",
    ".var/app/org.chromium.Chromium/.pki/nssdb",
    ".var/app/com.google.Chrome/.pki/nssdb",
    ".var/app/com.brave.Browser/.pki/nssdb",
    ".var/app/com.microsoft.Edge/.pki/nssdb",
    ".var/app/com.vivaldi.Vivaldi/.pki/nssdb",
];

/// Paths of the directories with Firefox's list of profiles, below the home directory.
const FIREFOX: [&str; 6] = [
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    "snap/firefox/common/.config/mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/config/mozilla/firefox",
];

/// The maximum number of profiles in one list.
const MAX_PROFILES: usize = 64;

/// The maximum number of our entries examined in one database.
const MAX_ENTRIES: usize = 64;

/// A certificate database, which may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Database {
    /// The browser that reads the database.
    pub(super) browser: &'static str,
    /// The directory of the database.
    pub(super) path: PathBuf,
    pub(super) exists: bool,
}

/// Returns the databases of this user: the existing ones of Chromium and its relatives, and those
/// of all Firefox profiles, which may not exist yet. If `has_chromium`, the usual database of
/// Chromium is included even if it does not exist.
pub(super) fn databases(home: &Path, data_home: &Path, has_chromium: bool) -> Vec<Database> {
    let at = |browser, path: PathBuf| {
        let exists = small_file::read(&path.join("cert9.db")).is_ok_and(|found| found.is_some());
        Database { browser, path, exists }
    };
    let chromium = CHROMIUM.map(|below| home.join(below)).into_iter();
    let chromium = chromium.chain([data_home.join("pki/nssdb")]);
    let mut found: Vec<Database> =
        chromium.map(|path| at("Chromium", path)).filter(|database| database.exists).collect();
    let (own, shared) = (home.join(".pki/nssdb"), data_home.join("pki/nssdb"));
    if has_chromium && !found.iter().any(|one| one.path == own || one.path == shared) {
        found.insert(0, Database { browser: "Chromium", path: own, exists: false });
    }
    found.extend(firefox_profiles(home).into_iter().map(|path| at("Firefox", path)));
    found
}

/// Returns the directories of all Firefox profiles.
pub(super) fn firefox_profiles(home: &Path) -> Vec<PathBuf> {
    FIREFOX.iter().flat_map(|below| profiles_of(&home.join(below))).collect()
}

fn profiles_of(directory: &Path) -> Vec<PathBuf> {
    let list = small_file::read(&directory.join("profiles.ini")).ok().flatten();
    let list = list.unwrap_or_default();
    let mut paths = profiles(&String::from_utf8_lossy(&list), directory);
    paths.retain(|path| small_file::is_directory(path));
    paths
}

/// Parses the profile directories in `profiles.ini`, in its order.
fn profiles(text: &str, directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let (mut in_profile, mut path, mut relative) = (false, None, true);
    // A profile is added when the next section begins, so a header is appended for the last
    // profile.
    for line in text.lines().chain(["["]) {
        let line = line.trim();
        if line.starts_with('[') {
            if let Some(path) = path.take().filter(|_| in_profile)
                && found.len() < MAX_PROFILES
            {
                found.push(if relative { directory.join(path) } else { PathBuf::from(path) });
            }
            (in_profile, relative) = (line.starts_with("[Profile"), true);
        } else if let Some(value) = line.strip_prefix("Path=") {
            path = Some(value);
        } else if let Some(value) = line.strip_prefix("IsRelative=") {
            relative = value != "0";
        }
    }
    found.dedup();
    found
}

impl Database {
    /// Returns the name shown to the user.
    pub(super) fn name(&self) -> String {
        format!("{} ({})", self.browser, self.path.display())
    }

    /// Plans the steps to add `certificate`.
    pub(super) fn install(&self, tool: &Path, certificate: &AuthorityCertificate) -> TrustPlan {
        let nickname = certificate.nickname();
        if self.nicknames(tool).contains(&nickname) {
            return TrustPlan::Nothing;
        }
        let mut steps = Vec::new();
        if !self.exists {
            steps.push(TrustStep::Directory(self.path.clone()));
            steps.push(self.call(tool, &["-N", "--empty-password"], false));
        }
        // `C,,` trusts the authority only to identify web sites.
        steps.push(self.call(tool, &["-A", "-a", "-t", "C,,", "-n", &nickname], true));
        TrustPlan::Do(steps)
    }

    /// Plans the steps to remove all of `ours`.
    pub(super) fn uninstall(&self, tool: &Path, ours: &OwnCertificates) -> TrustPlan {
        let entries = self.entries(tool, ours);
        if entries.is_empty() {
            return TrustPlan::Nothing;
        }
        let steps = entries.iter().map(|name| self.call(tool, &["-D", "-n", name], false));
        TrustPlan::Do(steps.collect())
    }

    /// Returns the names of the entries that contain one of `ours`.
    pub(super) fn entries(&self, tool: &Path, ours: &OwnCertificates) -> Vec<String> {
        let mut names = self.nicknames(tool);
        names.retain(|name| name.starts_with("wwwoffle"));
        names.truncate(MAX_ENTRIES);
        names.retain(|name| {
            let line = self.line(&["-L", "-a", "-n", name]);
            programs::run(tool, &line, "").is_ok_and(|ran| is_ours(name, &ran.out, ours))
        });
        names
    }

    /// Whether the database has neither certificates nor keys. False if it cannot be read.
    pub(super) fn is_empty(&self, tool: &Path) -> bool {
        let list = |words: &[&str]| programs::run(tool, &self.line(words), "");
        // Without keys, the tool fails and says so in its output.
        list(&["-L"]).is_ok_and(|ran| ran.success && nicknames(&ran.out).is_empty())
            && list(&["-K"]).is_ok_and(|ran| !ran.success && ran.out.contains("no keys found"))
    }

    fn nicknames(&self, tool: &Path) -> Vec<String> {
        if !self.exists {
            return Vec::new();
        }
        programs::run(tool, &self.line(&["-L"]), "").map_or(Vec::new(), |ran| nicknames(&ran.out))
    }

    fn call(&self, tool: &Path, words: &[&str], reads_certificate: bool) -> TrustStep {
        let (program, arguments) = (tool.to_owned(), self.line(words));
        TrustStep::Run(ProgramCall { program, arguments, reads_certificate })
    }

    fn line(&self, words: &[&str]) -> Vec<OsString> {
        let mut place = OsString::from("sql:");
        place.push(&self.path);
        [OsString::from("-d"), place].into_iter().chain(words.iter().map(Into::into)).collect()
    }
}

/// Parses the names in the output of `certutil -L`: a name, spaces, three sets of trust flags.
fn nicknames(list: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, trust) = line.trim_end().rsplit_once(char::is_whitespace)?;
        let is_trust = trust.matches(',').count() == 2
            && trust.bytes().all(|byte| byte == b',' || byte.is_ascii_alphabetic());
        // The heading has words instead of flags.
        (is_trust && trust != "SSL,S/MIME,JAR/XPI").then(|| name.trim_end().to_owned())
    };
    list.lines().filter_map(name).collect()
}

/// Whether the entry called `nickname` is one of `ours`. `pems` are all certificates with the same
/// subject as the entry.
fn is_ours(nickname: &str, pems: &str, ours: &OwnCertificates) -> bool {
    let mark = nickname.strip_suffix(')').and_then(|name| name.rsplit_once('('));
    match (mark, ours) {
        (Some((_, mark)), OwnCertificates::These(fingerprints)) if mark.len() == MARK => {
            let marked = fingerprints.iter().filter(|fingerprint| fingerprint.starts_with(mark));
            OwnCertificates::These(marked.cloned().collect()).has_any_of(pems.as_bytes())
        }
        _ => ours.has_all_of(pems.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;
    use crate::tls::ca::Authority;

    #[test]
    fn profiles_are_read_as_firefox_writes_them() {
        let text = "[Install4F96D1932A9F858E]\nDefault=x.default\nLocked=1\n\n\
            [Profile1]\nName=default\nIsRelative=1\nPath=x.default\nDefault=1\n\n\
            [Profile0]\r\nName=two\r\nPath=/data/two\r\nIsRelative=0\r\n\n\
            [General]\nPath=no\n\n[Profile2]\nName=none\n[Profile3]\nPath=Profiles/last";
        let want = ["/f/x.default", "/data/two", "/f/Profiles/last"].map(PathBuf::from);
        assert_eq!(profiles(text, Path::new("/f")), want);
        for text in ["", "\0\0", "[", "[Profile", "Path=x", "[Profile0]\nPath"] {
            assert!(profiles(text, Path::new("/f")).is_empty(), "{text:?}");
        }
        let many: Vec<String> = (0..1_000).map(|n| format!("[Profile{n}]\nPath=p{n}")).collect();
        assert_eq!(profiles(&many.join("\n"), Path::new("/f")).len(), MAX_PROFILES);
    }

    #[test]
    fn certificate_names_are_read_from_the_list() {
        let list = "\nCertificate Nickname                   Trust Attributes\n   \
            SSL,S/MIME,JAR/XPI\n\nwwwoffle CA on x, 2026-11-20 (ab)        C,,  \n\
            My own                                   CT,C,C\nplain      ,,   \n\n";
        assert_eq!(
            nicknames(list),
            ["wwwoffle CA on x, 2026-11-20 (ab)", "My own", "plain"].map(str::to_owned)
        );
    }

    #[test]
    fn a_database_entry_is_ours_by_its_mark_or_content() {
        let made = || Authority::make("m", clock::now()).unwrap();
        let (one, two) = (made(), made());
        let of = |authority: &Authority| AuthorityCertificate::of(authority.der().clone()).unwrap();
        let these = OwnCertificates::These(vec![of(&one).fingerprint()]);
        let both = format!("{}{}", one.pem(), two.pem());
        for (nickname, pems, want) in [
            (of(&one).nickname(), &both, true),
            (of(&two).nickname(), &both, false),
            (one.name().to_owned(), &one.pem(), true),
            (one.name().to_owned(), &both, false),
            ("wwwoffle".to_owned(), &one.pem(), true),
            ("wwwoffle ()".to_owned(), &both, false),
            (of(&one).nickname(), &two.pem(), false),
        ] {
            assert_eq!(is_ours(&nickname, pems, &these), want, "{nickname}");
            assert!(is_ours(&nickname, pems, &OwnCertificates::All), "{nickname}");
        }
        assert!(!is_ours("wwwoffle", "rubbish", &OwnCertificates::All));
    }
}
