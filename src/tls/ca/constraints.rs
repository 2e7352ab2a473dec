//! The limits of an authority to some hosts (RFC 5280 §4.2.1.10).

use std::net::IpAddr;

use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::oid_registry::{
    OID_X509_EXT_BASIC_CONSTRAINTS, OID_X509_EXT_EXTENDED_KEY_USAGE, OID_X509_EXT_KEY_USAGE,
    OID_X509_EXT_NAME_CONSTRAINTS,
};
use x509_parser::prelude::FromDer;

use super::BadAuthority;

/// The name under which a machine reaches itself. Our own pages use it.
pub(super) const THIS_MACHINE: &str = "localhost";

/// Whether an extension is critical, and its value. A certificate should have each at most once.
pub(super) type CertificateLimit = Vec<(bool, Vec<u8>)>;

/// The extension for an authority that may sign for these domains. `None` without domains.
pub(super) fn constraints(domains: &[String]) -> Option<NameConstraints> {
    if domains.is_empty() {
        return None;
    }
    let mut all: Vec<&str> = domains.iter().map(String::as_str).collect();
    if !all.contains(&THIS_MACHINE) {
        all.push(THIS_MACHINE);
    }
    let permitted_subtrees: Vec<_> = all.iter().map(|&domain| subtree(domain)).collect();
    let has_address =
        permitted_subtrees.iter().any(|one| matches!(one, GeneralSubtree::IpAddress(_)));
    // A limit for names does not cover addresses, so without a permitted address all addresses are
    // excluded.
    let excluded_subtrees = if has_address {
        Vec::new()
    } else {
        vec![
            GeneralSubtree::IpAddress(CidrSubnet::V4([0; 4], [0; 4])),
            GeneralSubtree::IpAddress(CidrSubnet::V6([0; 16], [0; 16])),
        ]
    };
    Some(NameConstraints { permitted_subtrees, excluded_subtrees })
}

/// The limit to a domain or to one address.
fn subtree(domain: &str) -> GeneralSubtree {
    match domain.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => {
            GeneralSubtree::IpAddress(CidrSubnet::V4(address.octets(), [0xff; 4]))
        }
        Ok(IpAddr::V6(address)) => {
            GeneralSubtree::IpAddress(CidrSubnet::V6(address.octets(), [0xff; 16]))
        }
        Err(_) => GeneralSubtree::DnsName(domain.to_owned()),
    }
}

/// The extensions of a certificate that limit it, as they are encoded.
pub(super) fn limits(certificate: &[u8]) -> Result<Vec<CertificateLimit>, BadAuthority> {
    let (_, x509) =
        X509Certificate::from_der(certificate).map_err(|_| BadAuthority::NotAnAuthority)?;
    let limits = [
        OID_X509_EXT_BASIC_CONSTRAINTS,
        OID_X509_EXT_EXTENDED_KEY_USAGE,
        OID_X509_EXT_KEY_USAGE,
        OID_X509_EXT_NAME_CONSTRAINTS,
    ];
    let found = limits.map(|oid| {
        let all = x509.extensions().iter().filter(move |one| one.oid == oid);
        all.map(|one| (one.critical, one.value.to_vec())).collect()
    });
    Ok(found.into())
}

/// The domains to which a certificate is limited. Empty if there is no limit.
pub(super) fn permitted(x509: &X509Certificate<'_>) -> Result<Vec<String>, BadAuthority> {
    let found = x509.name_constraints().map_err(|_| BadAuthority::NotAnAuthority)?;
    let subtrees = found.and_then(|found| found.value.permitted_subtrees.as_ref());
    let domain = |subtree: &x509_parser::extensions::GeneralSubtree<'_>| match &subtree.base {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    };
    Ok(subtrees.map_or_else(Vec::new, |subtrees| subtrees.iter().filter_map(domain).collect()))
}

/// The address of a limit to one address: the address, followed by its mask (RFC 5280 §4.2.1.10).
fn address(bytes: &[u8]) -> Option<String> {
    let (address, mask) = bytes.split_at(bytes.len() / 2);
    let address = match (<[u8; 4]>::try_from(address), <[u8; 16]>::try_from(address)) {
        (Ok(four), _) => IpAddr::from(four),
        (_, Ok(sixteen)) => IpAddr::from(sixteen),
        _ => return None,
    };
    mask.iter().all(|&byte| byte == 0xff).then(|| address.to_string())
}
