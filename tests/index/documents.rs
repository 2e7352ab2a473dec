//! Documents, such as PDF files, are searched by the text that a configured program extracts. The
//! program runs in a process of its own, and a hostile document cannot stop the index.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::tools::{program, tool};
use crate::harness::{Answer, Daemon, Origin, eventually};

/// A PDF of one page with `text`, which has no parentheses.
fn pdf(text: &str) -> Vec<u8> {
    let stream = format!("BT /F1 24 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        offsets.push(file.len());
        file.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let at = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    let count = objects.len() + 1;
    file.push_str(&format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"));
    file.into_bytes()
}

/// The URLs that a search finds, once all entries are read.
fn found(daemon: &Daemon, words: &str, entries: usize) -> Vec<String> {
    let mut hits = Vec::new();
    eventually("all documents are read", || {
        let answer = daemon.api("GET", "/api/index?", "").whole();
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        let Some(items) = page["entries"].as_array() else { return false };
        items.len() == entries && items.iter().all(|item| item["words"] != "not-yet")
    });
    let answer = daemon.api("GET", &format!("/api/search?q={words}"), "").whole();
    let page: Value = serde_json::from_slice(&answer.body).unwrap();
    for hit in page["hits"].as_array().unwrap_or_else(|| panic!("{page}")) {
        hits.push(hit["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned());
    }
    hits.sort();
    hits
}

#[test]
#[ignore = "needs pdftotext"]
fn pdf_files_are_searched_with_pdftotext() {
    let pdftotext = program(&["pdftotext"]);
    let origin = Origin::start();
    origin.say("/tea.pdf", Answer::new(200, "application/pdf", pdf("The samovar was cold")));
    let damaged = pdf("The samovar was broken");
    let cut = damaged[..damaged.len() / 2].to_vec();
    origin.say("/cut.pdf", Answer::new(200, "application/pdf", cut));
    origin.say("/not.pdf", Answer::new(200, "application/pdf", "no samovar at all"));
    let daemon = Daemon::configured(&format!(
        "[index-options]\ntext-programs = {{ \"application/pdf\" = [\"{}\", \"-enc\", \"UTF-8\", \
         \"-\", \"-\"] }}\n",
        pdftotext.display()
    ));
    daemon.ok(&["online"]);
    for path in ["/tea.pdf", "/cut.pdf", "/not.pdf"] {
        assert_eq!(daemon.get(&origin.url(path)).status, 200);
    }
    let hits = found(&daemon, "samovar", 3);
    assert!(hits.contains(&"tea.pdf".to_owned()), "{hits:?}");
    assert!(!hits.contains(&"not.pdf".to_owned()), "{hits:?}");
    // A new index has the texts too.
    daemon.ok(&["reindex"]);
    assert!(found(&daemon, "samovar", 3).contains(&"tea.pdf".to_owned()));
}

#[test]
fn a_hostile_document_cannot_stop_the_index() {
    let origin = Origin::start();
    let kind = "application/vnd.oasis.opendocument.text";
    for word in ["good", "crash", "endless", "exit", "deaf", "network"] {
        origin.say(&format!("/{word}"), Answer::new(200, kind, word));
    }
    let large = "good ".repeat(200_000);
    origin.say("/large", Answer::new(200, kind, large));
    let place = Daemon::prepare(None);
    let script = place.home().join("convert");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let text = "#!/bin/sh\nread -r word\ncase $word in\ngood*) echo samovar; cat >/dev/null;;\n\
         crash) echo samovar; kill -SEGV $$;;\nendless) while :; do echo samovar; done;;\n\
         exit) echo samovar; exit 9;;\ndeaf) exec <&-; echo samovar;;\n\
         network) bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT' || echo samovar;;\nesac\n";
    let port = listener.local_addr().unwrap().port().to_string();
    std::fs::write(&script, text.replace("PORT", &port)).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::configured(&format!(
        "[index-options]\ntext-programs = {{ \"{kind}\" = [\"{}\"] }}\n",
        script.display()
    ));
    daemon.ok(&["online"]);
    for word in ["good", "crash", "endless", "exit", "deaf", "large", "network"] {
        assert_eq!(daemon.get(&origin.url(&format!("/{word}"))).status, 200);
    }
    // The text of a program that failed is not trusted: it may be an error message.
    assert_eq!(found(&daemon, "samovar", 7), ["deaf", "endless", "good", "large", "network"]);
    assert!(listener.accept().is_err(), "a program that reads documents has a network");
}

/// A program that takes long delays only other documents.
#[test]
fn pages_are_searchable_while_a_document_is_read() {
    let origin = Origin::start();
    origin.say("/slow.pdf", Answer::new(200, "application/pdf", "x"));
    origin.say("/page", Answer::html("teapot"));
    let place = Daemon::prepare(None);
    let (script, pipe) = (place.home().join("convert"), place.home().join("pipe"));
    tool("mkfifo", &[pipe.to_str().unwrap()], "");
    std::fs::write(&script, format!("#!/bin/sh\nexec cat {}\n", pipe.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::configured(&format!(
        "[index-options]\ntext-programs = {{ \"application/pdf\" = [\"{}\"] }}\n",
        script.display()
    ));
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&origin.url("/slow.pdf")).status, 200);
    // It opens once the program reads it.
    let mut text = std::fs::File::options().write(true).open(&pipe).unwrap();
    assert_eq!(daemon.get(&origin.url("/page")).status, 200);
    let found_page = || daemon.run(&["search", "teapot"]).out.contains("/page");
    eventually("the page is found", found_page);
    text.write_all(b"kettle").unwrap();
    drop(text);
    assert_eq!(found(&daemon, "kettle", 2), ["slow.pdf"]);
}

#[test]
fn a_missing_program_is_reported_once() {
    let origin = Origin::start();
    for number in 0..3 {
        let pdf = Answer::new(200, "application/pdf", "x");
        origin.say(&format!("/{number}.pdf"), pdf);
    }
    let mut daemon = Daemon::configured(
        "[index-options]\ntext-programs = { \"application/pdf\" = [\"/no/such/program\"] }\n",
    );
    daemon.ok(&["online"]);
    for number in 0..3 {
        assert_eq!(daemon.get(&origin.url(&format!("/{number}.pdf"))).status, 200);
    }
    assert!(found(&daemon, "x", 3).is_empty());
    assert_eq!(daemon.status()["missing_programs"], serde_json::json!(["/no/such/program"]));
    assert!(daemon.ok(&["status"]).contains("/no/such/program cannot be executed"));
    assert!(daemon.page("/").text().contains("/no/such/program"));
    daemon.down();
    let log = daemon.whole_log();
    assert_eq!(log.matches("documents are not searchable").count(), 1, "{log}");
}
