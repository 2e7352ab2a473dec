//! Our certificates, verified by other programs for every kind of host.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::harness::daemon::run;
use crate::harness::secure::script;
use crate::harness::tools::{certificate, program, python_with, tool};
use crate::harness::{Daemon, Forward, Trust};

/// The findings of a linter for public authorities about our root certificate, and the reason why
/// each is accepted.
const OF_THE_ROOT: [&str; 7] = [
    // The root is valid for two years, so that a lost key becomes useless. Roots in browsers are
    // valid for eight years and more.
    "cabf.serverauth.root_validity_period_too_short",
    // The authority belongs to a machine, not to a country or a company.
    "cabf.serverauth.ca.country_attribute_absent",
    "cabf.serverauth.ca.organization_name_attribute_absent",
    // The root does not sign OCSP responses.
    "cabf.ca_certificate_no_digital_signature_bit",
    // `pathlen:0` is intended: no authority below this one is valid.
    "cabf.serverauth.root_basic_constraints_pathlenconstraint_present",
    // RFC 5280 §4.2.1.1 allows a self-signed certificate to omit this extension.
    "cabf.serverauth.root.authority_key_identifier_extension_absent",
    // RFC 5280 §4.2.1.2 allows any method for this identifier. We use a truncated SHA-256.
    "pkix.unknown_subject_key_identifier_calculation_method",
];

/// The accepted findings about a certificate of a host.
const OF_A_LEAF: [&str; 7] = [
    // Certificates cannot be revoked individually. The user can remove the authority instead.
    "cabf.serverauth.subscriber.revocation_information_absent",
    "msft.end_entity.revocation_information_absent",
    "cabf.serverauth.subscriber.authority_info_access_extension_absent",
    // Such policies exist only for the public web.
    "cabf.serverauth.subscriber.certificate_policies_extension_absent",
    // People look for the name in this field. A name that is too long for the field is left out.
    "cabf.serverauth.dv.common_name_attribute_present",
    "cabf.serverauth.subscriber.subject_key_identifier_extension_present",
    "pkix.unknown_subject_key_identifier_calculation_method",
];

/// A host in the forms that are used in CONNECT, in the handshake, and in the certificate.
struct Row {
    host: String,
    sni: Option<String>,
    alternative: String,
    /// The accepted findings of a linter about this host.
    odd: &'static [&'static str],
}

impl Row {
    fn name(host: &str, odd: &'static [&'static str]) -> Self {
        let bare = host.trim_end_matches('.').to_ascii_lowercase();
        let alternative = format!("DNS:{bare}");
        Self { host: host.to_owned(), sni: Some(bare), alternative, odd }
    }

    fn address(host: &str, alternative: &str) -> Self {
        let (host, alternative) = (host.to_owned(), format!("IP Address:{alternative}"));
        Self { host, sni: None, alternative, odd: &["cabf.internal_ip_address"] }
    }

    /// The name or address that a program is given to verify the certificate.
    fn bare(&self) -> &str {
        match &self.sni {
            Some(name) => name,
            None => self.host.trim_matches(['[', ']']),
        }
    }
}

fn rows() -> Vec<Row> {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}.example.org", "b".repeat(49));
    assert_eq!(longest.len(), 253);
    vec![
        Row::name("www.example.org", &[]),
        Row::name("WWW.Example.ORG", &[]),
        Row::name(&format!("{label}.example.org"), &[]),
        Row::name(&longest, &[]),
        Row::name("xn--bcher-kva.example.org", &[]),
        Row::name("a_b.example.org", &["cabf.serverauth.invalid_dnsname_syntax"]),
        Row::name("www.example.org.", &[]),
        Row::name("ship", &["cabf.internal_domain_name"]),
        Row::address("192.0.2.7", "192.0.2.7"),
        Row::address("[2001:db8::7]", "2001:DB8:0:0:0:0:0:7"),
    ]
}

/// An offline daemon, and its authority.
fn stage() -> (Daemon, Trust) {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    (daemon, trust)
}

/// Connects with `openssl s_client`, which verifies the host. Returns the path of a file with the
/// certificate.
#[track_caller]
fn see(daemon: &Daemon, trust: &Trust, row: &Row, version: &str) -> PathBuf {
    let there = Forward::to(daemon.addr(), &format!("{}:443", row.host));
    let there = there.addr.to_string();
    let mut arguments = vec!["s_client", "-connect", &there, version, "-showcerts"];
    match &row.sni {
        Some(name) => arguments.extend(["-servername", name, "-verify_hostname", name]),
        None => arguments.extend(["-noservername", "-verify_ip", row.bare()]),
    }
    arguments.extend(["-CAfile", trust.file(), "-verify_return_error"]);
    let seen = tool("openssl", &arguments, "");
    assert!(seen.out.contains("Verify return code: 0 (ok)"), "{} {version}: {seen:?}", row.host);
    let file = daemon.home().join(format!("leaf-{}.pem", row.host.len()));
    std::fs::write(&file, certificate(&seen.out)).unwrap();
    file
}

#[test]
#[ignore = "needs openssl"]
fn openssl_accepts_the_certificate_of_every_host() {
    let (daemon, trust) = stage();
    let mut serials = BTreeSet::new();
    for row in rows() {
        for version in ["-tls1_2", "-tls1_3"] {
            let leaf = see(&daemon, &trust, &row, version);
            let leaf = leaf.to_str().unwrap();
            let check = if row.sni.is_some() { "-verify_hostname" } else { "-verify_ip" };
            let (strict, purpose) = ("-x509_strict", "sslserver");
            let arguments = ["verify", strict, "-check_ss_sig", "-purpose", purpose, check];
            let arguments = [&arguments[..], &[row.bare(), "-CAfile", trust.file(), leaf]].concat();
            let verified = tool("openssl", &arguments, "");
            assert_eq!(verified.status, 0, "{}: {verified:?}", row.host);
        }
        let leaf = see(&daemon, &trust, &row, "-tls1_3");
        let text =
            tool("openssl", &["x509", "-in", leaf.to_str().unwrap(), "-noout", "-text"], "").out;
        let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for want in [
            "Version: 3 (0x2)",
            "Signature Algorithm: ecdsa-with-SHA256",
            "Public-Key: (256 bit)",
            &format!("{} X509v3 Key Usage", row.alternative),
            "X509v3 Key Usage: critical Digital Signature X509v3 Extended Key Usage: \
             TLS Web Server Authentication X509v3",
            "X509v3 Basic Constraints: critical CA:FALSE",
            "X509v3 Subject Key Identifier:",
            "X509v3 Authority Key Identifier:",
        ] {
            assert!(words.contains(want), "{}: {want:?} in {text}", row.host);
        }
        let serial = words.split("Serial Number: ").nth(1).unwrap();
        let serial = serial.split_whitespace().next().unwrap().to_owned();
        // The serial number is positive and has 16 bytes. All bits except the first two are random.
        assert!(serial.len() == 47 && ('4'..'8').contains(&serial.chars().next().unwrap()));
        serials.insert(serial);
    }
    // Two of the hosts differ only in letter case. They are the same host and have the same
    // certificate.
    assert_eq!(serials.len(), rows().len() - 1);
}

#[test]
#[ignore = "needs python3 with pkilint"]
fn a_linter_reports_only_expected_findings() {
    let mut python = python_with("pkilint");
    let (daemon, trust) = stage();
    let rows = rows();
    python.arg(script("lint.py")).arg(&trust.pem);
    let mut names = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let file = daemon.home().join(format!("{number}.pem"));
        std::fs::rename(see(&daemon, &trust, row, "-tls1_3"), &file).unwrap();
        python.arg(&file);
        names.push(file.display().to_string());
    }
    let said = run(python, None);
    assert_eq!(said.status, 0, "{said:?}");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in said.out.lines() {
        let (file, code) = line.split_once('\t').unwrap();
        let code = code.split('\t').next().unwrap();
        let row = names.iter().position(|name| name == file).map(|at| &rows[at]);
        let meant = match row {
            Some(row) => OF_A_LEAF.contains(&code) || row.odd.contains(&code),
            None => OF_THE_ROOT.contains(&code),
        };
        count += 1;
        if !meant {
            wrong.push(format!("{}: {line}", row.map_or("the authority", |row| &row.host)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > rows.len(), "not all were checked: {}", said.out);
}

#[test]
#[ignore = "needs gnutls-bin"]
fn gnutls_accepts_the_certificates() {
    for name in ["certtool", "gnutls-cli"] {
        program(&[name]);
    }
    let (daemon, trust) = stage();
    let root = std::fs::read_to_string(&trust.pem).unwrap();
    for row in rows() {
        let leaf = std::fs::read_to_string(see(&daemon, &trust, &row, "-tls1_3")).unwrap();
        let chain = tool("certtool", &["--verify-chain"], &format!("{leaf}{root}"));
        assert_eq!(chain.status, 0, "{}: {chain:?}", row.host);
        let verified = "Chain verification output: Verified. The certificate is trusted.";
        assert!(chain.out.contains(verified), "{}: {chain:?}", row.host);
        let info = tool("certtool", &["-i"], &leaf);
        assert!(info.err.is_empty(), "{}: {info:?}", row.host);
        assert!(info.out.contains("Algorithm Security Level: High"), "{}", info.out);

        // At the end of its handshake, the program has accepted or rejected the name.
        let there = Forward::to(daemon.addr(), &format!("{}:443", row.host));
        let (port, verify) = (there.addr.port().to_string(), row.bare());
        let option = |name: &str, value: &str| format!("--{name}={value}");
        let mut arguments = vec![
            option("port", &port),
            option("verify-hostname", verify),
            option("x509cafile", trust.file()),
        ];
        match &row.sni {
            Some(name) => arguments.push(option("sni-hostname", name)),
            None => arguments.push("--disable-sni".to_owned()),
        }
        arguments.push("127.0.0.1".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let seen = tool("gnutls-cli", &arguments, "");
        assert_eq!(seen.status, 0, "{}: {seen:?}", row.host);
        assert!(seen.out.contains("Status: The certificate is trusted"), "{}: {seen:?}", row.host);
    }
}

#[test]
#[ignore = "needs openssl"]
fn intermediate_certificates_of_our_authority_are_rejected() {
    let (daemon, trust) = stage();
    let secret = std::fs::read_to_string(daemon.spool().join("ca/authority.pem")).unwrap();
    let between = {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "In between");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.use_authority_key_identifier_extension = true;
        params
    };
    let root = CertificateDer::from_pem_slice(secret.as_bytes()).unwrap();
    let leaf = see(&daemon, &trust, &rows()[0], "-tls1_3");
    let of_leaf = CertificateDer::from_pem_file(&leaf).unwrap();
    let other_key = KeyPair::generate().unwrap();
    let key = KeyPair::generate().unwrap();
    // An intermediate authority that is signed with the authority's own key from its file, and a
    // certificate of a host signed by it.
    let issuer = Issuer::from_ca_cert_der(&root, KeyPair::from_pem(&secret).unwrap()).unwrap();
    let below = between.signed_by(&key, &issuer).unwrap();
    // An intermediate that claims to be signed by a host's certificate, with another key. OpenSSL
    // reports that a host must not sign, before it compares the keys.
    let of_host = Issuer::from_ca_cert_der(&of_leaf, &other_key).unwrap();
    let cases = [
        ("an authority below ours", Issuer::new(between, &key), below.pem(), "path length"),
        ("a host", of_host, std::fs::read_to_string(&leaf).unwrap(), "invalid CA certificate"),
    ];
    for (what, issuer, untrusted, want) in cases {
        let (file, chain) = (daemon.home().join("end.pem"), daemon.home().join("chain.pem"));
        let mut end = CertificateParams::new(vec!["victim.example".to_owned()]).unwrap();
        end.use_authority_key_identifier_extension = true;
        let end = end.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
        std::fs::write(&file, end.pem()).unwrap();
        std::fs::write(&chain, untrusted).unwrap();
        let (file, chain) = (file.to_str().unwrap(), chain.to_str().unwrap());
        let arguments = ["verify", "-CAfile", trust.file(), "-untrusted", chain, file];
        let verified = tool("openssl", &arguments, "");
        assert_ne!(verified.status, 0, "{what}: {verified:?}");
        assert!(verified.err.contains(want), "{what}: {verified:?}");
    }
}

#[test]
#[ignore = "needs openssl"]
fn the_authority_describes_itself() {
    let (daemon, trust) = stage();
    let root =
        tool("openssl", &["x509", "-in", trust.file(), "-noout", "-text", "-fingerprint"], "").out;
    let words: String = root.split_whitespace().collect::<Vec<_>>().join(" ");
    for want in [
        "wwwoffle CA on ",
        "Signature Algorithm: ecdsa-with-SHA256",
        "X509v3 Key Usage: critical Certificate Sign, CRL Sign X509v3",
        "X509v3 Basic Constraints: critical CA:TRUE, pathlen:0",
        "X509v3 Subject Key Identifier:",
    ] {
        assert!(words.contains(want), "{want:?} in {root}");
    }
    let arguments = ["x509", "-in", trust.file(), "-noout", "-fingerprint", "-sha256"];
    let printed = tool("openssl", &arguments, "").out;
    let fingerprint = printed.trim().split('=').nth(1).unwrap();
    assert!(daemon.ok(&["ca", "show"]).contains(fingerprint));
}

#[test]
#[ignore = "needs openssl"]
fn no_certificate_of_ours_is_for_many_hosts() {
    let (daemon, trust) = stage();
    for host in ["*.example.org", "*", "%2A.example.org"] {
        let there = Forward::to(daemon.addr(), &format!("{host}:443"));
        let there = there.addr.to_string();
        let sni = ["-servername", host, "-CAfile", trust.file()];
        let arguments = [&["s_client", "-connect", &there, "-showcerts"][..], &sni].concat();
        let seen = tool("openssl", &arguments, "");
        assert!(!seen.out.contains("BEGIN CERTIFICATE"), "{host}: {seen:?}");
    }
}
