//! Authority certificates in files that the configuration names.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and writes the files that are read"
)]

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use std::fs;
use wwwoffle_config::Config;

/// An authority's certificate and its key, in PEM form.
fn authority() -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// Writes `files`, and parses a configuration beside them in which `extra-ca` is `value`.
fn read(files: &[(&str, &str)], value: &str) -> Result<Config, String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let text = format!("[https]\nextra-ca = {value}\n");
    Config::parse(&text, &directory.path().join("test.conf")).map_err(|faults| {
        faults.to_string().replace(&format!("{}/", directory.path().display()), "")
    })
}

#[test]
fn all_certificates_of_all_files_are_read() {
    let ((one, key), (other, _)) = (authority(), authority());
    let two = format!("A bundle\n{one}{key}{other}");
    let files = [("one.pem", &*one), ("two.pem", &*two)];
    let extra = read(&files, r#"["one.pem", "two.pem"]"#).unwrap().https.extra_ca;
    assert_eq!(extra.certificates().len(), 3);
    assert_eq!(extra.certificates()[0], extra.certificates()[1]);
    assert_eq!(extra.files().len(), 2);
    assert!(extra.files().iter().all(|file| file.is_absolute()));
    assert!(Config::default().https.extra_ca.certificates().is_empty());
}

#[test]
fn an_invalid_certificate_is_reported_with_its_file() {
    let (_, key) = authority();
    let broken = "-----BEGIN CERTIFICATE-----\n!c2Vj!\n-----END CERTIFICATE-----\n";
    let other = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
    let endless = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n";
    let files = [
        ("empty.pem", ""),
        ("key.pem", &*key),
        ("broken.pem", broken),
        ("other.pem", other),
        ("endless.pem", endless),
    ];
    for (value, want) in [
        (r#"["none.pem"]"#, "none.pem: there is no such file"),
        (r#"["."]"#, "not a regular file"),
        (r#"["empty.pem"]"#, "empty.pem: there is no certificate in it"),
        (r#"["key.pem"]"#, "key.pem: there is no certificate in it"),
        (r#"["broken.pem"]"#, "broken.pem: certificate 1 in it is not base64"),
        (r#"["endless.pem"]"#, "endless.pem: certificate 1 in it has no END line"),
        (r#"["other.pem"]"#, "other.pem: certificate 1 in it cannot be used: "),
        ("[1]", "\"extra-ca\" takes PEM files"),
        (r#""a.pem""#, "\"extra-ca\" takes an array of PEM files"),
    ] {
        let fault = read(&files, value).unwrap_err();
        assert!(fault.starts_with("test.conf:2: "), "{value}: {fault}");
        assert!(fault.contains(want), "{value}: {fault}");
        assert!(!fault.contains("c2Vj"), "{value}: {fault}");
    }
}
