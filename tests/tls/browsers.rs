//! Browsers on HTTPS sites through the proxy show the same page with all sub-resources online and
//! offline.

use std::any::Any;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use crate::harness::websocket;
use crate::harness::{Answer, Firefox, Speaks, Stage, heavy};
use crate::site::browser::{FURNISHED, browser, dom_trusting, dom_with, furnish, look};

/// Time limit for the start of a browser and its output.
const LIMIT: Duration = Duration::from_secs(90);

/// A browser, and how it is made to trust our authority.
#[derive(Debug)]
enum Browser {
    /// Chromium with the key on its command line.
    ByKey(PathBuf),
    /// Chromium with the authority in the user's certificate database.
    ByDatabase(PathBuf),
    /// Firefox with the authority in its profile.
    Firefox,
}

/// The installed browsers, each with the protocol of the site that it visits.
fn browsers() -> Vec<(Browser, Speaks)> {
    let program = browser();
    vec![
        (Browser::ByKey(program.clone()), Speaks::Http1),
        (Browser::ByDatabase(program), Speaks::Http2),
        (Browser::Firefox, Speaks::Http1),
        (Browser::Firefox, Speaks::Http2),
    ]
}

impl Browser {
    /// The DOM of a page. Waits until it contains all of `texts`. Uses a new profile without data
    /// of earlier visits.
    #[track_caller]
    fn shown(&self, stage: &Stage, url: &str, texts: &[&str]) -> String {
        let dom = match self {
            Self::ByKey(program) => {
                let shown = stage.daemon.ok(&["ca", "show"]);
                let key = shown.lines().find_map(|line| line.strip_prefix("public key")).unwrap();
                let option = format!("--ignore-certificate-errors-spki-list={}", key.trim());
                dom_with(program, &stage.daemon, &[option], url)
            }
            Self::ByDatabase(program) => dom_trusting(program, &stage.daemon, &stage.trust, url),
            Self::Firefox => {
                let mut firefox = Firefox::start(&stage.daemon, Some(&stage.trust));
                firefox.open(url).unwrap();
                return firefox.until(texts);
            }
        };
        for text in texts {
            assert!(dom.contains(text), "{text:?} in {self:?}:\n{dom}");
        }
        dom
    }

    /// Shows a page. The browser runs until the returned value is dropped.
    #[track_caller]
    fn looking(&self, stage: &Stage, url: &str) -> Box<dyn Any> {
        match self {
            Self::ByKey(program) | Self::ByDatabase(program) => {
                Box::new(look(program, &stage.daemon, &stage.trust, url))
            }
            Self::Firefox => {
                let mut firefox = Firefox::start(&stage.daemon, Some(&stage.trust));
                firefox.open(url).unwrap();
                Box::new(firefox)
            }
        }
    }

    /// The page as shown by a browser that does not trust our authority.
    fn without_trust(&self, stage: &Stage, url: &str) -> String {
        match self {
            Self::ByKey(program) | Self::ByDatabase(program) => {
                dom_with(program, &stage.daemon, &[], url)
            }
            Self::Firefox => {
                let mut firefox = Firefox::start(&stage.daemon, None);
                let said = firefox.open(url).unwrap_err();
                assert!(said.contains("insecure certificate"), "{said}");
                firefox.html()
            }
        }
    }
}

#[test]
#[ignore = "needs chromium, firefox and certutil"]
fn browsers_show_a_secure_page_online_and_offline() {
    let _alone = heavy();
    for (browser, speaks) in browsers() {
        let mut stage = Stage::speaking(speaks);
        furnish(&stage.site.origin);
        let url = stage.site.url("/shop/");
        let online = browser.shown(&stage, &url, &FURNISHED);
        let spoken = if speaks == Speaks::Http1 { &b"http/1.1"[..] } else { b"h2" };
        assert_eq!(stage.site.named()[0].1.as_deref(), Some(spoken), "{browser:?}");
        stage.go_offline();
        assert_eq!(browser.shown(&stage, &url, &FURNISHED), online, "{browser:?} offline");
        if speaks == Speaks::Http1 {
            // The rest of the test does not depend on the protocol of the site.
            continue;
        }
        let missing = stage.site.url("/missing/");
        browser.shown(&stage, &missing, &["/missing/", "queue/"]);
        assert_eq!(stage.daemon.queued_by_browser(), [missing], "{browser:?}");
        // Without the authority, a browser only shows its own warning, and the daemon remembers the
        // rejection.
        let untrusting = browser.without_trust(&stage, &url);
        assert!(!untrusting.contains("script ran"), "{browser:?}: {untrusting}");
        stage.daemon.tells("rejects our certificate");
    }
}

#[test]
#[ignore = "needs chromium, firefox and certutil"]
fn browsers_talk_by_websocket() {
    let _alone = heavy();
    // How Chromium trusts the authority does not matter here.
    for (browser, speaks) in browsers() {
        if matches!(browser, Browser::ByKey(_)) {
            continue;
        }
        let stage = Stage::speaking(speaks);
        let page = "<!DOCTYPE html><title>Chat</title><script>\
            const chat = new WebSocket('wss://' + location.host + '/chat'), said = [];\
            chat.binaryType = 'arraybuffer';\
            const big = 'x'.repeat(100000);\
            chat.onopen = () => { chat.send('ahoy'); chat.send(new Uint8Array([1, 2, 255]));\
                chat.send(big) };\
            chat.onmessage = event => { const data = event.data;\
                said.push(data === big ? 'big' : typeof data == 'string' ? data :\
                    [...new Uint8Array(data)].join());\
                if (said.length == 3) chat.close(1000, 'enough') };\
            chat.onclose = event => fetch('/say', { method: 'POST', body:\
                said.join(' ') + ' end ' + event.code + ' ' + event.wasClean });\
            </script>";
        let origin = &stage.site.origin;
        origin.say("/", Answer::html(page));
        origin.on("/chat", websocket::echo);
        let (say, said) = mpsc::channel();
        origin.on("/say", move |exchange| {
            let _ = say.send(String::from_utf8_lossy(exchange.body()?).into_owned());
            exchange.answer(&Answer::new(204, "", ""))
        });
        let looking = browser.looking(&stage, &stage.site.url("/"));
        let said =
            said.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{browser:?} prints nothing"));
        assert_eq!(said, "ahoy 1,2,255 big end 1000 true", "{browser:?}");
        drop(looking);
        let asked = origin.asked("/chat");
        assert_eq!(asked.len(), 1, "{browser:?}");
        let via = asked[0].fields.get("Via").unwrap();
        assert!(via.starts_with("2.0 "), "{browser:?} used its connection of HTTP/2: {via}");
        assert!(!stage.daemon.ok(&["ls"]).contains("/chat"), "{browser:?}: it was stored");
    }
}
