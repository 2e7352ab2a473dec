//! `wwwoffle info`: the details of one URL, without its body.

use std::fmt::Display;
use std::io::Write;

use serde::Serialize;
use wwwoffle_url::{CanonicalUrl, url_encode_form_args};

use super::failure::VerbResult;
use super::files::{find, places, print_json, reader};
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::base::shown;
use crate::fetch::recurse::complete::{self, OfReader, StoredPage};
use crate::site::info::entry_info as info;
use wwwoffle_api::{
    Certificate, CompressedFile, Connection, Field, Info, PageParts, PartItem, PartState,
    StoredInfo,
};

/// Prints the details of `url`; with `json`, in the form of `GET /api/info`.
pub(crate) fn print(
    url: &str,
    owner: &Owner,
    json: bool,
    context: &mut VerbContext<'_>,
) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    if settings.remote.is_some() {
        let info: Info<String> = settings.control()?.get(&call("/api/info", url, owner))?;
        return output(&info, json, terminal);
    }
    let local = settings.local_host()?;
    let places = places(url, owner, &local)?;
    let reader = reader(settings)?;
    let entry = find(&reader, &places)?;
    let parts = match (&entry, CanonicalUrl::parse(url, &local)) {
        (Some(entry), Ok(url)) => {
            let config = settings.config()?;
            let page = StoredPage { url: &url, entry, owner, config: &config, local: &local };
            let source = OfReader::new(&reader)?;
            complete::find_parts(&source, &page)?
        }
        _ => None,
    };
    let info = info::of(&places.public, entry.as_ref(), parts);
    let pins = reader.pins()?;
    let info = Info { pinned: pins.contains(&info.url), ..info };
    output(&info, json, terminal)
}

/// Returns the call of the API for a URL and its owner.
pub(super) fn call(path: &str, url: &str, owner: &Owner) -> String {
    let call = format!("{path}?url={}", url_encode_form_args(url.as_bytes()));
    // Without an owner, the daemon uses that of the caller.
    match owner {
        Owner::Local => call,
        other => {
            let owner = other.to_string();
            format!("{call}&owner={}", url_encode_form_args(owner.as_bytes()))
        }
    }
}

fn output<T: Display + Serialize>(
    info: &Info<T>,
    json: bool,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    if json {
        print_json(info, terminal.stdout)?;
    } else {
        print_info(info, terminal.stdout)?;
    }
    Ok(if info.kept.is_some() { ExitStatus::Done } else { ExitStatus::Failed })
}

fn print_info<T: Display>(info: &Info<T>, out: &mut dyn Write) -> VerbResult<()> {
    writeln!(out, "url         {}", shown::line(&info.url))?;
    writeln!(out, "key         {}", info.key)?;
    match &info.kept {
        Some(copy) => print_kept(info, copy, out),
        None => Ok(writeln!(out, "it is not stored: `wwwoffle get URL` fetches it")?),
    }
}

fn print_kept<T: Display>(
    info: &Info<T>,
    copy: &StoredInfo,
    out: &mut dyn Write,
) -> VerbResult<()> {
    let owner = copy.whose.owner.as_deref().unwrap_or("everyone");
    writeln!(out, "owner       {}", shown::line(owner))?;
    if let Some(login) = &copy.whose.login {
        writeln!(out, "login       {}", shown::line(login))?;
    }
    writeln!(out, "status      {}", copy.status)?;
    writeln!(out, "received    {}", copy.received)?;
    writeln!(out, "stored      {}", copy.stored)?;
    writeln!(out, "type        {}", shown::line(copy.content_type.as_deref().unwrap_or("-")))?;
    let shared =
        if copy.storage.shared { ", stored once for all entries with the same body" } else { "" };
    writeln!(out, "bytes       {}{shared}", copy.bytes)?;
    if let Some(CompressedFile { bytes, plain }) = copy.storage.compressed {
        writeln!(out, "compressed  {bytes} bytes in the file instead of {plain}")?;
    }
    writeln!(out, "sha256      {}", copy.sha256)?;
    if info.pinned {
        writeln!(out, "pinned      protected from purging")?;
    }
    match &copy.connection {
        Some(connection) => print_connection(connection, out)?,
        None if info.url.starts_with("https:") => writeln!(out, "connection  unknown")?,
        None => writeln!(out, "connection  not encrypted")?,
    }
    if let Some(parts) = &info.parts {
        print_parts(parts, out)?;
    }
    print_fields("response", &copy.response, out)?;
    print_fields("request", &copy.request, out)
}

fn print_connection(connection: &Connection, out: &mut dyn Write) -> VerbResult<()> {
    let pinned = if connection.by_fingerprint { ", allowed by its fingerprint" } else { "" };
    let (version, suite) = (shown::line(&connection.version), shown::line(&connection.suite));
    writeln!(out, "connection  {version}, {suite}{pinned}")?;
    for certificate in &connection.chain.certificates {
        print_certificate(certificate, out)?;
    }
    if connection.chain.left_out > 0 {
        writeln!(out, "            and {} more", connection.chain.left_out)?;
    }
    Ok(())
}

fn print_certificate(certificate: &Certificate, out: &mut dyn Write) -> VerbResult<()> {
    let time = |time: Option<jiff::Timestamp>| time.map_or("?".to_owned(), |time| time.to_string());
    writeln!(out, "certificate {}", shown::line(&certificate.subject))?;
    writeln!(out, "            signed by {}", shown::line(&certificate.issuer))?;
    writeln!(out, "            {} to {}", time(certificate.from), time(certificate.until))?;
    writeln!(out, "            sha256 {}", shown::line(&certificate.sha256))?;
    if !certificate.names.is_empty() {
        let more = match certificate.more_names {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(out, "            for {}{more}", shown::line(&certificate.names.join(", ")))?;
    }
    Ok(())
}

fn print_parts<T: Display>(parts: &PageParts<T>, out: &mut dyn Write) -> VerbResult<()> {
    let counts = parts.counts;
    let parts_text = [
        (counts.kept, PartState::Kept),
        (counts.queued, PartState::Queued),
        (counts.failed, PartState::Failed),
        (counts.absent, PartState::Absent),
        (counts.left_out, PartState::LeftOut),
    ];
    let parts_text: Vec<_> = parts_text
        .iter()
        .filter(|(count, state)| *count > 0 || *state == PartState::Kept)
        .map(|(count, state)| format!("{count} {}", state.as_str()))
        .collect();
    let whole = if parts.complete { "complete" } else { "not complete" };
    writeln!(out, "resources   {whole}: {}", parts_text.join(", "))?;
    if let Some(cut) = &parts.cut {
        writeln!(out, "            there may be more: {}", shown::line(&cut.to_string()))?;
    }
    for part in parts.list.iter().filter(|part| part.state != PartState::Kept) {
        print_part(part, out)?;
    }
    Ok(())
}

fn print_part<T: Display>(part: &PartItem<T>, out: &mut dyn Write) -> VerbResult<()> {
    let from = part.from.as_deref().map(|from| format!(", from {}", shown::line(from)));
    let why = part.reason.as_ref().map(|why| format!(": {}", shown::line(&why.to_string())));
    let (state, url, class) = (part.state.as_str(), shown::line(&part.url), &part.class);
    let (from, why) = (from.unwrap_or_default(), why.unwrap_or_default());
    Ok(writeln!(out, "{state:<11} {url} ({class}{from}){why}")?)
}

fn print_fields(what: &str, fields: &[Field], out: &mut dyn Write) -> VerbResult<()> {
    for field in fields {
        let value = field.value.as_deref().map_or("(not shown)".to_owned(), shown::line);
        writeln!(out, "{what:<11} {}: {value}", shown::line(&field.name))?;
    }
    Ok(())
}
