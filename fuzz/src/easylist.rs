//! Any text as a rule list for browsers, with any URL. If all rules have the simple form `||name^`,
//! a model predicts what they block.

use wwwoffle_config::{BlockQuery, Config, RequestPurpose, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::classic::scratch;
use super::input::{Input, text};

/// A valid line. If most lines are valid, the text is accepted as a rule list.
const RULES: &str = "||always.test^\n";

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    panics_are_caught();
    let mut input = Input::new(data);
    let purpose = input.pick(&[
        RequestPurpose::Page,
        RequestPurpose::Image,
        RequestPurpose::Script,
        RequestPurpose::Other,
    ]);
    let (url, page) = (input.line(), input.line());
    let own = text(input.rest());
    let count = own.lines().count();
    let list = format!("{own}\n{}", RULES.repeat(count + 1));
    let file = scratch("w.conf");
    std::fs::write(&file, "[dont-get]\nurls = [{ easylist = \"list.txt\" }]\n").expect("written");
    std::fs::write(scratch("list.txt"), &list).expect("it is written");
    let Ok(config) = Config::load(&file) else { return };
    let local = LocalHost::default();
    let page = CanonicalUrl::parse(page, &local).ok();
    let decide = |url: &CanonicalUrl| {
        let parts = UrlParts::of(url);
        let asked = BlockQuery { page: page.as_ref(), purpose, ..BlockQuery::of(&parts) };
        let decided = config.dont_get.urls.decide(&asked);
        decided.map(|by| (by.blocks(), by.location().line(), by.to_string()))
    };
    // Even if the list made the engine fail, the valid line still blocks its host.
    let is_excepted = own.contains("@@") || own.contains("$");
    let always = CanonicalUrl::parse("http://always.test/x", &local).expect("it is a URL");
    let decided = decide(&always);
    assert!(decided.is_some_and(|(blocks, ..)| blocks) || is_excepted, "{list}");
    let Ok(url) = CanonicalUrl::parse(url, &local) else { return };
    let decided = decide(&url);
    assert_eq!(decide(&url), decided, "the same, asked again");
    if let Some((_, line, rule)) = &decided {
        let said = list.lines().nth(line - 1).expect("there is such a line");
        assert_eq!(said.trim(), rule, "what decides is a line of the list");
    }
    if url.protocol().starts_with("http")
        && let Some(want) = model(own, url.host())
    {
        let told = decided.is_some_and(|(blocks, ..)| blocks);
        assert_eq!(told, want || model(RULES, url.host()) == Some(true), "{url} by {own}");
    }
}

/// Whether a rule blocks a host. `None` if a rule does not have the simple form.
fn model(list: &str, host: &str) -> Option<bool> {
    let mut blocks = false;
    for rule in list.lines().map(str::trim).filter(|rule| !rule.is_empty()) {
        let name = rule.strip_prefix("||")?.strip_suffix('^')?;
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_plain);
        if !name.contains('.') || !name.split('.').all(is_label) {
            return None;
        }
        let rest = host.strip_suffix(name);
        blocks |= rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    }
    Some(blocks)
}

/// Lets the configuration catch panics of the engine, which this target tests. By default the
/// fuzzer would abort.
fn panics_are_caught() {
    #[cfg(fuzzing)]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| std::panic::set_hook(Box::new(|told| eprintln!("{told}"))));
    }
}
