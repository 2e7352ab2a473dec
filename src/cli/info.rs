//! `wwwoffle info`: what is known of one URL, without its body.

use std::io::Write;

use super::{
    Terminal,
    failure::Failure,
    files::{find, places, print_json, reader},
    settings::Settings,
};
use crate::{
    api::{Certificate, Connection, Field, Info, KeptInfo},
    exit::ExitStatus,
    info,
    pages::shown,
    proxy::owner::Owner,
};

/// Prints what is known of `url`, as `GET /api/info` does with `json`.
pub(crate) fn print(
    url: &str,
    owner: &Owner,
    json: bool,
    settings: &Settings<'_>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let places = places(url, owner, &settings.local_host()?).map_err(Failure::plain)?;
    let entry = find(&reader(settings)?, &places)?;
    let told = info::of(&places.public, entry.as_ref());
    if json {
        print_json(&told, terminal.stdout)?;
    } else {
        print_info(&told, terminal.stdout)?;
    }
    Ok(if told.kept.is_some() { ExitStatus::Done } else { ExitStatus::Failed })
}

fn print_info(told: &Info, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "url         {}", shown::line(&told.url))?;
    writeln!(out, "key         {}", told.key)?;
    match &told.kept {
        Some(kept) => print_kept(told, kept, out),
        None => Ok(writeln!(out, "nothing of it is kept: `wwwoffle get URL` fetches it")?),
    }
}

fn print_kept(told: &Info, kept: &KeptInfo, out: &mut dyn Write) -> Result<(), Failure> {
    let owner = kept.owner.as_deref().unwrap_or("everyone");
    writeln!(out, "kept for    {}", shown::line(owner))?;
    writeln!(out, "status      {}", kept.status)?;
    writeln!(out, "received    {}", kept.received)?;
    writeln!(out, "stored      {}", kept.stored)?;
    writeln!(out, "type        {}", shown::line(kept.content_type.as_deref().unwrap_or("-")))?;
    writeln!(out, "bytes       {}", kept.bytes)?;
    writeln!(out, "sha256      {}", kept.sha256)?;
    match &kept.connection {
        Some(connection) => print_connection(connection, out)?,
        None if told.url.starts_with("https:") => writeln!(out, "connection  not known")?,
        None => writeln!(out, "connection  not secured")?,
    }
    print_fields("response", &kept.response, out)?;
    print_fields("request", &kept.request, out)
}

fn print_connection(connection: &Connection, out: &mut dyn Write) -> Result<(), Failure> {
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

fn print_certificate(certificate: &Certificate, out: &mut dyn Write) -> Result<(), Failure> {
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

fn print_fields(what: &str, fields: &[Field], out: &mut dyn Write) -> Result<(), Failure> {
    for field in fields {
        let value = field.value.as_deref().map_or("(not shown)".to_owned(), shown::line);
        writeln!(out, "{what:<11} {}: {value}", shown::line(&field.name))?;
    }
    Ok(())
}
