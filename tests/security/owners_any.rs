//! Responses are stored per user. In every order of requests, neither of two users gets a private
//! response of the other.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestError, TestRunner};

use crate::harness::client::Response;
use crate::harness::wire::Fields;
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::security::owners::{USERS, daemon, get, login, of, who};

/// A step of the property test: one request, two concurrent requests, or a change of the mode.
#[derive(Clone, Debug)]
enum Step {
    Get(Asking),
    Both(Asking, Asking),
    Offline,
    Online,
}

#[derive(Clone, Copy, Debug)]
struct Asking {
    user: &'static str,
    kind: &'static str,
    secret: &'static str,
}

const KINDS: [&str; 6] = ["plain", "cookie", "private", "public", "public-cookie", "vary"];
const SECRETS: [&str; 4] = [
    "",
    "Cookie: id=1\r\n",
    "Authorization: Basic dTpw\r\n",
    "Authorization: Bearer x\r\nCookie: id=1\r\n",
];

fn asking() -> impl Strategy<Value = Asking> {
    let choose = |all: &'static [&'static str]| proptest::sample::select(all);
    (choose(&USERS), choose(&KINDS), choose(&SECRETS)).prop_map(|(user, kind, secret)| Asking {
        user,
        kind,
        secret,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => asking().prop_map(Step::Get),
        4 => (asking(), asking()).prop_map(|(one, other)| Step::Both(one, other)),
        1 => Just(Step::Offline),
        2 => Just(Step::Online),
    ]
}

/// A response that names its user, and says whether it is private.
fn answer(fields: &Fields, kind: &str) -> Answer {
    let secret = fields.has("Cookie") || fields.has("Authorization");
    let own = match kind {
        "private" | "cookie" => true,
        "public" | "public-cookie" => false,
        _ => secret,
    };
    let who = who(fields);
    let said = Answer::html(format!("{} {who}", if own { "only" } else { "any" }));
    // All responses have the same ETag, because many servers send the same ETag to every user. A
    // copy of one user must not be revalidated for another user.
    let said = said.field("ETag", "\"1\"");
    match kind {
        "cookie" => said.field("Set-Cookie", &format!("id={who}")),
        "private" => said.field("Cache-Control", "private, max-age=60"),
        "public" => said.field("Cache-Control", "public, max-age=60"),
        "public-cookie" => {
            said.field("Cache-Control", "public").field("Set-Cookie", &format!("id={who}"))
        }
        "vary" => said.field("Vary", "Cookie, Authorization"),
        _ => said.field("Cache-Control", "max-age=60"),
    }
}

fn check(asked: Asking, page: &Response) -> TestCaseResult {
    let text = page.text();
    let other = USERS.iter().find(|user| **user != asked.user).unwrap();
    prop_assert!(!text.starts_with(&format!("only {other}")), "{asked:?} got {text:?}");
    let cookie = page.field("Set-Cookie");
    prop_assert!(!cookie.contains(other), "{asked:?} was given {cookie:?}");
    Ok(())
}

fn play(daemon: &Daemon, origin: &Origin, case: u64, steps: &[Step]) -> TestCaseResult {
    daemon.ok(&["online"]);
    let url = |asked: &Asking| origin.url(&format!("/p?case={case}&kind={}", asked.kind));
    for step in steps {
        match step {
            Step::Get(asked) => {
                check(*asked, &get(daemon, asked.user, &url(asked), asked.secret))?;
            }
            Step::Both(one, other) => {
                let both = [one, other];
                let mut clients = both.map(|_| daemon.client());
                for (client, asked) in clients.iter_mut().zip(both) {
                    client.ask(&url(asked), &of(asked.user, asked.secret));
                }
                for (client, asked) in clients.iter_mut().zip(both) {
                    check(*asked, &client.receive("GET").whole())?;
                }
            }
            Step::Offline => drop(daemon.ok(&["offline"])),
            // The change to online also fetches the queue.
            Step::Online => drop(daemon.ok(&["online"])),
        }
    }
    daemon.ok(&["online"]);
    eventually("the queue is fetched", || daemon.queued().is_empty());
    daemon.ok(&["offline"]);
    for kind in KINDS {
        for secret in SECRETS {
            for user in USERS {
                let asked = Asking { user, kind, secret };
                let part =
                    format!("{}X-Who: {user}\r\n{secret}", login("Proxy-Authorization", user));
                let part = format!("{part}Cache-Control: only-if-cached\r\n");
                check(asked, &daemon.client().get_with(&url(&asked), &part).whole())?;
            }
        }
    }
    Ok(())
}

#[test]
#[ignore = "slow"]
fn users_never_see_responses_of_others() {
    let (daemon, origin) = (daemon(), Origin::start());
    origin.on("/p", |request| {
        let kind = request.seen.target.split("kind=").nth(1).unwrap_or_default().to_owned();
        let own = answer(&request.seen.fields, &kind);
        let own = own.bytes(&request.seen.method);
        // Every request gets a full response. If the origin handled ETags, mistakes of the proxy
        // could be hidden.
        request.send(own)?;
        Ok(crate::harness::After::Keep)
    });
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    let case = std::cell::Cell::new(0);
    let result = runner.run(&prop::collection::vec(step(), 4..16), |steps| {
        case.set(case.get() + 1);
        play(&daemon, &origin, case.get(), &steps)
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, steps)) => panic!("{reason}\n{steps:#?}"),
        Err(other) => panic!("{other}"),
    }
}
