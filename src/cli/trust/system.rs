//! The certificate store of the system, which most programs use.
//!
//! Each kind of store has a directory for the administrator's files. After a change of these files,
//! a tool builds the files that programs read. Our certificate is one file in the directory, named
//! after its fingerprint.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::certificate::{AuthorityCertificate, OwnCertificates};
use super::plan::{ProgramCall, TrustPlan, TrustStep};
use crate::base::small_file;
use crate::cli::programs;

/// A kind of system store.
#[derive(Debug, PartialEq, Eq)]
struct StoreKind {
    /// The system that uses this kind of store.
    system: &'static str,
    /// The directory of the administrator's files, below the root.
    directory: &'static str,
    /// The tool to run after a change.
    tool: &'static str,
    /// The extension of the administrator's files.
    ending: &'static str,
    /// The file with all certificates that the tool makes, for programs that read one file.
    bundle: &'static str,
}

/// The known kinds. A system has the first kind whose directory and tool both exist, because
/// several systems have the same directory or the same tool.
const KINDS: [StoreKind; 4] = [
    StoreKind {
        system: "Debian",
        directory: "usr/local/share/ca-certificates",
        tool: "update-ca-certificates",
        ending: "crt",
        bundle: "/etc/ssl/certs/ca-certificates.crt",
    },
    StoreKind {
        system: "openSUSE",
        directory: "etc/pki/trust/anchors",
        tool: "update-ca-certificates",
        ending: "pem",
        bundle: "/var/lib/ca-certificates/ca-bundle.pem",
    },
    StoreKind {
        system: "Fedora",
        directory: "etc/pki/ca-trust/source/anchors",
        tool: "update-ca-trust",
        ending: "pem",
        bundle: "/etc/pki/tls/certs/ca-bundle.crt",
    },
    StoreKind {
        system: "Arch",
        directory: "etc/ca-certificates/trust-source/anchors",
        tool: "update-ca-trust",
        ending: "crt",
        bundle: "/etc/ssl/certs/ca-certificates.crt",
    },
];

/// The directories of administration tools, below the root.
const TOOLS: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];

/// The keychain of macOS.
const KEYCHAIN: &str = "/Library/Keychains/System.keychain";

/// The store of the system, if a known one was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct System {
    store: Option<SystemStore>,
    macos: bool,
}

/// The store that was found.
#[derive(Debug, PartialEq, Eq)]
struct SystemStore {
    kind: &'static StoreKind,
    directory: PathBuf,
    tool: PathBuf,
    /// Whether we have permission to change the store.
    writable: bool,
    /// The files in the directory whose names begin with `wwwoffle`.
    files: Vec<PathBuf>,
}

impl System {
    /// Examines the system whose root directory is `root`.
    pub(super) fn detect(root: &Path) -> Self {
        let tools: Vec<PathBuf> = TOOLS.iter().map(|directory| root.join(directory)).collect();
        let store = KINDS.iter().find_map(|kind| {
            let directory = root.join(kind.directory);
            let tool = programs::find(kind.tool, tools.iter().map(PathBuf::as_path))?;
            if !small_file::is_directory(&directory) {
                return None;
            }
            let names = small_file::names(&directory).into_iter();
            let files = names.filter(|name| name.starts_with("wwwoffle"));
            Some(SystemStore {
                kind,
                writable: rustix::fs::access(&directory, Access::WRITE_OK).is_ok(),
                files: files.map(|name| directory.join(name)).collect(),
                directory,
                tool,
            })
        });
        Self { store, macos: cfg!(target_os = "macos") }
    }

    /// Whether the system has a store of a known kind.
    pub(super) fn is_known(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the file with all certificates.
    pub(super) fn bundle(&self) -> Option<&'static str> {
        self.store.as_ref().map(|store| store.kind.bundle)
    }

    /// Whether this user may change the store.
    pub(super) fn is_writable(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.writable)
    }

    /// Returns the name shown to the user.
    pub(super) fn name(&self) -> String {
        match &self.store {
            Some(store) => format!("system ({})", store.directory.display()),
            None => "system".to_owned(),
        }
    }

    /// Returns the first file that contains only certificates of `ours`, if any.
    pub(super) fn file_of(&self, ours: &OwnCertificates) -> Option<&Path> {
        let store = self.store.as_ref()?;
        store.files.iter().map(PathBuf::as_path).find(|path| ours.has_file(path))
    }

    /// Returns the path of a new file for the certificate with this mark.
    pub(super) fn new_file(&self, mark: &str) -> Option<PathBuf> {
        let store = self.store.as_ref()?;
        Some(store.directory.join(format!("wwwoffle-{mark}.{}", store.kind.ending)))
    }

    /// Plans the steps to add `certificate`.
    pub(super) fn install(&self, certificate: &AuthorityCertificate, export: &str) -> TrustPlan {
        let Some(store) = &self.store else {
            let commands = vec![
                format!("{export} > wwwoffle-ca.pem"),
                format!(
                    "sudo security add-trusted-cert -d -r trustRoot -k {KEYCHAIN} wwwoffle-ca.pem"
                ),
            ];
            return self.manual_plan(commands);
        };
        let ours = OwnCertificates::These(vec![certificate.fingerprint()]);
        if self.file_of(&ours).is_some() {
            return TrustPlan::Nothing;
        }
        let name = format!("{}.{}", certificate.file_stem(), store.kind.ending);
        store.change(vec![TrustStep::Write(store.directory.join(name))], export)
    }

    /// Plans the steps to remove all of `ours`.
    pub(super) fn uninstall(&self, ours: &OwnCertificates) -> TrustPlan {
        let Some(store) = &self.store else {
            let OwnCertificates::These(fingerprints) = ours else { return TrustPlan::Nothing };
            let command = |hash: &String| {
                format!("sudo security delete-certificate -t -Z {} {KEYCHAIN}", hash.to_uppercase())
            };
            return if self.macos {
                self.manual_plan(fingerprints.iter().map(command).collect())
            } else {
                TrustPlan::Nothing
            };
        };
        let theirs = store.files.iter().filter(|path| ours.has_file(path));
        let steps: Vec<TrustStep> = theirs.cloned().map(TrustStep::Remove).collect();
        if steps.is_empty() { TrustPlan::Nothing } else { store.change(steps, "") }
    }

    /// Plans to make the lists that programs read again.
    pub(super) fn refresh(&self) -> TrustPlan {
        self.store.as_ref().map_or(TrustPlan::Nothing, |store| store.change(Vec::new(), ""))
    }

    fn manual_plan(&self, commands: Vec<String>) -> TrustPlan {
        if self.macos {
            let why = "a command for the administrator of this Mac".to_owned();
            return TrustPlan::Tell { why, commands };
        }
        TrustPlan::Tell {
            why: "the certificate store of this system is unknown: import the certificate that \
                `wwwoffle ca export` prints by hand"
                .to_owned(),
            commands: Vec::new(),
        }
    }
}

impl SystemStore {
    fn change(&self, mut steps: Vec<TrustStep>, export: &str) -> TrustPlan {
        steps.push(TrustStep::Run(ProgramCall {
            program: self.tool.clone(),
            arguments: Vec::new(),
            reads_certificate: false,
        }));
        if self.writable {
            return TrustPlan::Do(steps);
        }
        TrustPlan::Tell {
            why: "only the administrator may change it".to_owned(),
            commands: steps.iter().map(|step| step.command(export, "sudo ")).collect(),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays a system out")]
mod tests {
    use super::*;
    use crate::base::clock;
    use crate::tls::ca::Authority;
    use std::os::unix::fs::PermissionsExt;

    fn certificate() -> AuthorityCertificate {
        AuthorityCertificate::of(Authority::make("m", clock::now()).unwrap().der().clone()).unwrap()
    }

    fn store(kind: &'static StoreKind, writable: bool) -> SystemStore {
        let (directory, tool) = (PathBuf::from("/store"), PathBuf::from("/sbin/update"));
        SystemStore { kind, directory, tool, writable, files: Vec::new() }
    }

    #[test]
    fn plan_depends_on_the_certificate_store() {
        let certificate = certificate();
        let stem = certificate.file_stem();
        for kind in &KINDS {
            let path = PathBuf::from(format!("/store/{stem}.{}", kind.ending));
            let system = System { store: Some(store(kind, true)), macos: false };
            let call = ProgramCall {
                program: "/sbin/update".into(),
                arguments: Vec::new(),
                reads_certificate: false,
            };
            let want = TrustPlan::Do(vec![TrustStep::Write(path.clone()), TrustStep::Run(call)]);
            assert_eq!(system.install(&certificate, "export"), want, "{}", kind.system);
            let system = System { store: Some(store(kind, false)), macos: false };
            let TrustPlan::Tell { why, commands } = system.install(&certificate, "export") else {
                panic!("{} cannot be written", kind.system)
            };
            assert!(why.contains("administrator"));
            let write = format!("export | sudo tee {} >/dev/null", path.display());
            assert_eq!(commands, [write.as_str(), "sudo /sbin/update"]);
            assert_eq!(system.uninstall(&OwnCertificates::All), TrustPlan::Nothing);
        }
        let mac = System { store: None, macos: true };
        let TrustPlan::Tell { commands, .. } = mac.install(&certificate, "export") else {
            panic!()
        };
        assert!(commands[1].starts_with("sudo security add-trusted-cert"), "{commands:?}");
        let ours = OwnCertificates::These(vec!["ab".to_owned()]);
        let TrustPlan::Tell { commands, .. } = mac.uninstall(&ours) else { panic!() };
        assert!(commands[0].contains("-Z AB "), "{commands:?}");
        let unknown = System { store: None, macos: false };
        let TrustPlan::Tell { why, commands } = unknown.install(&certificate, "x") else {
            panic!()
        };
        assert!(why.contains("by hand") && commands.is_empty());
        assert_eq!(unknown.uninstall(&ours), TrustPlan::Nothing);
    }

    #[test]
    fn systems_are_detected_by_directory_and_tool() {
        for kind in &KINDS {
            let root = tempfile::tempdir().unwrap();
            assert_eq!(System::detect(root.path()).store, None);
            std::fs::create_dir_all(root.path().join(kind.directory)).unwrap();
            assert_eq!(System::detect(root.path()).store, None, "without its tool");
            let sbin = root.path().join("usr/sbin");
            std::fs::create_dir_all(&sbin).unwrap();
            let tool = sbin.join(kind.tool);
            std::fs::write(&tool, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
            let found = System::detect(root.path()).store.unwrap();
            assert_eq!((found.kind, found.tool), (kind, tool));
        }
    }

    #[test]
    fn only_files_with_certificates_of_ours_are_removed() {
        let (ours, other) = (certificate(), certificate());
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: String| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut store = store(&KINDS[0], true);
        let by_hand = file("wwwoffle.crt", ours.pem());
        let known = file("wwwoffle-1.crt", ours.pem());
        let others = file("wwwoffle-2.crt", other.pem());
        let mixed = file("wwwoffle-3.crt", format!("{}{}", ours.pem(), other.pem()));
        let notes = file("wwwoffle-notes.txt", "keep me".to_owned());
        store.files = vec![by_hand.clone(), known.clone(), others.clone(), mixed.clone(), notes];
        let system = System { store: Some(store), macos: false };
        assert_eq!(system.install(&ours, "x"), TrustPlan::Nothing, "it is there already");
        let removed = |plan| match plan {
            TrustPlan::Do(steps) => steps
                .into_iter()
                .filter_map(|step| match step {
                    TrustStep::Remove(path) => Some(path),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let these = OwnCertificates::These(vec![ours.fingerprint()]);
        assert_eq!(removed(system.uninstall(&these)), [by_hand.clone(), known.clone()]);
        assert_eq!(
            removed(system.uninstall(&OwnCertificates::All)),
            [by_hand, known, others, mixed]
        );
    }
}
