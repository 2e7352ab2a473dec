//! A daemon, its sites, and a user who trusts its authority.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::harness::tools::tool;
use crate::harness::{After, Answer, Authority, Daemon, Origin, TlsOrigin, Trust};
use crate::site::browser::furnish;

/// The configuration: older versions are stored, a failure is not retried, one address is blocked
/// and another needs confirmation. Usage is counted, with a quota.
const CONFIG: &str = "[usage]\ncount = true\nquotas = [\"*: 500 GB per month\"]\n\
    [caching]\nkeep-versions = 5\n[fetch-options]\nattempts = 1\n\
    [dont-get]\nurls = [\"*://*/blocked\"]\n\
    [[offline-options.for]]\nurl = \"*://*/asked-first\"\nconfirm-requests = true\n";

/// An icon of one colour.
const ICON: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>\
    <circle cx='4' cy='4' r='4' fill='teal'/></svg>";

pub(super) struct Stage {
    pub(super) daemon: Daemon,
    pub(super) site: TlsOrigin,
    pub(super) plain: Origin,
    /// A site whose certificate is not signed by a trusted authority.
    pub(super) stranger: TlsOrigin,
    /// An origin at a port on which no server listens.
    pub(super) closed: Origin,
}

impl Stage {
    /// Starts everything, with an empty spool.
    #[track_caller]
    pub(super) fn set() -> Self {
        let stage = Self::untrusted();
        stage.import(&Trust::of(&stage.daemon));
        stage
    }

    /// Starts everything for a user who does not trust the authority yet.
    #[track_caller]
    pub(super) fn untrusted() -> Self {
        let authority = Authority::new();
        let names = ["localhost", "127.0.0.1"];
        let site = TlsOrigin::start(authority.identity(&names));
        let stranger = TlsOrigin::start(Authority::named("Nobody").identity(&names));
        let (plain, mut closed) = (Origin::start(), Origin::start());
        closed.stop();
        furnish(&site.origin);
        grow_tea(&site.origin);
        grow_tea(&plain);
        let daemon = authority.daemon(CONFIG);
        let stage = Self { daemon, site, plain, stranger, closed };
        stage.run_certutil(&["-N", "--empty-password"]);
        stage
    }

    /// A description of the stage for the scripts.
    pub(super) fn told(&self) -> Value {
        json!({
            "languages": languages(),
            "base": format!("http://{}", self.daemon.addr()),
            "home": self.daemon.home().join("person"),
            "https": self.site.url(""),
            "http": self.plain.url(""),
            "stranger": self.stranger.url(""),
            "closed": self.closed.url(""),
        })
    }

    /// Makes Chromium trust the daemon's authority.
    fn import(&self, trust: &Trust) {
        self.run_certutil(&["-A", "-t", "C,,", "-n", "test", "-i", trust.file()]);
    }

    /// Changes the certificates of the user, in a home directory of the test.
    fn run_certutil(&self, arguments: &[&str]) {
        let folder = self.daemon.home().join("person/.pki/nssdb");
        std::fs::create_dir_all(&folder).unwrap();
        let database = format!("sql:{}", folder.display());
        let arguments = [&["-d", &database][..], arguments].concat();
        let ran = tool("certutil", &arguments, "");
        assert_eq!(ran.status, 0, "{ran:?}");
    }
}

/// English, and the languages that have a catalogue.
fn languages() -> Vec<String> {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/base/texts");
    let names = std::fs::read_dir(texts).unwrap().map(|entry| entry.unwrap().file_name());
    let tags = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".po")?.to_owned()));
    std::iter::once("en".to_owned()).chain(tags).collect()
}

/// Sets up pages about tea: one of them differs at every visit, and some of them fail.
fn grow_tea(origin: &Origin) {
    let kinds = ["green", "black", "white", "oolong"];
    let links: String =
        kinds.iter().map(|kind| format!("<li><a href=\"{kind}.html\">{kind}</a>")).collect();
    let head = "<!DOCTYPE html><link rel=icon href=/tea/icon.svg type=image/svg+xml>";
    origin.say(
        "/tea/",
        Answer::html(format!(
            "{head}<title>All teas</title><h1>All teas</h1><img src=leaf.svg alt=leaf><ul>{links}</ul>"
        )),
    );
    for kind in kinds {
        let text =
            format!("{head}<title>Tea: {kind}</title><h1>{kind}</h1><p>Brew the {kind} tea.");
        origin.say(&format!("/tea/{kind}.html"), Answer::html(text));
    }
    for image in ["/tea/leaf.svg", "/tea/icon.svg"] {
        origin.say(image, Answer::new(200, "image/svg+xml", ICON));
    }
    let visits = AtomicU64::new(0);
    origin.on("/tea/price.html", move |exchange| {
        let visit = visits.fetch_add(1, Ordering::SeqCst) + 1;
        let text = format!("<!DOCTYPE html><title>Price</title><p>It costs {visit} coins.");
        exchange.answer(&Answer::html(text).field("Cache-Control", "no-cache"))
    });
    origin.say(
        "/form",
        Answer::html(
            "<title>Form</title><form method=post action=/order><button>Order</button></form>",
        ),
    );
    origin.on("/broken", |_| Ok(After::Close));
    origin.say("/gone", Answer::html("<title>Gone</title>").with_status(404));
}
