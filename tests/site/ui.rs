//! Our pages as people use them: in real browsers driven by playwright-core, checked by axe-core
//! and an HTML validator, and in a text browser.
//!
//! The scripts are in `tests/scripts/ui/`. Each prints a line for each fault, and fails if there is
//! one. Screenshots stay in the directory `ui` of cargo's directory for tests. If the environment
//! has `UI_TIMES=1`, the scripts print how long each step took. `UI_PATIENCE` is the limit for one
//! wait in milliseconds. With `UI_SHOTS=DIRECTORY`, `every_page_is_valid_and_accessible` and
//! `pages_without_content_are_valid_and_accessible` add screenshots of whole pages to it, at three
//! widths, in light and dark.

mod mirrored;
mod rich;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::harness::tools::{plain, program};
use crate::harness::{cannot_run, daemon, heavy, secure};
use crate::site::browser::browser;
use stage::Stage;

/// Time limit for one script, on a busy machine.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The npm packages that the scripts use.
const PACKAGES: [&str; 3] = ["playwright-core", "axe-core", "html-validate"];

/// The programs and packages that the scripts need.
struct Tools {
    node: PathBuf,
    modules: PathBuf,
    chromium: PathBuf,
}

impl Tools {
    /// Finds the tools of this machine. Fails if one is missing.
    fn here() -> Self {
        let (node, chromium) = (program(&["node", "nodejs"]), browser());
        program(&["certutil"]);
        Self { node, modules: modules(), chromium }
    }

    /// Runs a script on a stage. If the script fails, the test fails with its output.
    #[track_caller]
    fn run(&self, script: &str, name: &str, stage: &Stage, more: &Value) {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui").join(name);
        std::fs::create_dir_all(&out).unwrap();
        let mut settings = stage.told();
        settings["modules"] = json!(self.modules);
        settings["chromium"] = json!(self.chromium);
        settings["out"] = json!(out);
        for (key, value) in more.as_object().into_iter().flatten() {
            settings[key] = value.clone();
        }
        let mut command = plain(Command::new(&self.node));
        command.arg(secure::script("ui").join(script)).arg(settings.to_string());
        let ran = daemon::output(command, None, LIMIT);
        let said = String::from_utf8_lossy(&ran.stdout);
        let failed = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{script} {name}:\n{said}\n{failed}");
        eprintln!("{name}: {said}");
    }
}

/// The directory of the packages: `$UI_TEST_MODULES`, which `.ci/run` sets.
pub(crate) fn modules() -> PathBuf {
    let found = std::env::var_os("UI_TEST_MODULES").map(PathBuf::from);
    let has = |modules: &PathBuf| {
        PACKAGES.iter().all(|name| modules.join(name).join("package.json").is_file())
    };
    found.filter(has).unwrap_or_else(|| {
        cannot_run(&format!("not all of {PACKAGES:?} are installed: set UI_TEST_MODULES to them"))
    })
}

/// Runs `person.mjs` for a person with English and for a person with `other`. Each has a separate
/// daemon.
#[track_caller]
fn a_person(scripts: bool, width: u32, other: &str) {
    let tools = Tools::here();
    let _alone = heavy();
    for lang in ["en", other] {
        let name = format!("{lang}-{width}-{}", if scripts { "scripts" } else { "plain" });
        let person =
            json!({"browser": "chromium", "scripts": scripts, "width": width, "lang": lang});
        tools.run("person.mjs", &name, &Stage::set(), &person);
    }
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_person_at_a_desk() {
    a_person(true, 1_280, "de");
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_person_at_a_desk_without_scripts() {
    a_person(false, 1_280, "fr");
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_person_with_a_phone() {
    a_person(true, 360, "fr");
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_person_with_a_phone_without_scripts() {
    a_person(false, 360, "de");
}

#[test]
#[ignore = "needs node, firefox and npm packages"]
fn a_person_with_firefox() {
    let tools = Tools::here();
    let firefox = program(&["firefox-esr", "firefox"]);
    let _alone = heavy();
    let person = json!({"browser": "firefox", "firefox": firefox, "scripts": true, "width": 1_280,
        "lang": "en"});
    tools.run("person.mjs", "firefox", &Stage::set(), &person);
}

/// The journeys in `journeys.mjs`.
const JOURNEYS: [&str; 3] = ["traveller", "school", "archivist"];

/// Runs journeys in one browser, each with a separate daemon. `how` has more settings.
#[track_caller]
fn travel(browser: &str, journeys: &[&str], how: &Value) {
    const PASSWORD: &str = "only me";
    let tools = Tools::here();
    let firefox = (browser == "firefox").then(|| program(&["firefox-esr", "firefox"]));
    let _alone = heavy();
    let keys = if how["keyboard"] == true { "keys" } else { "mouse" };
    let scripts = if how["scripts"] == true { "scripts" } else { "plain" };
    for journey in journeys {
        let mut stage = Stage::set();
        let mut settings = how.clone();
        settings["browser"] = json!(browser);
        settings["firefox"] = json!(firefox);
        settings["journey"] = json!(journey);
        if *journey == "school" {
            stage.daemon.set_password(PASSWORD);
            settings["password"] = json!(PASSWORD);
        }
        let name = format!("{journey}-{browser}-{keys}-{scripts}");
        tools.run("journeys.mjs", &name, &stage, &settings);
    }
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_traveller_a_school_and_an_archivist_need_only_clicks() {
    travel("chromium", &JOURNEYS, &json!({"scripts": true}));
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn a_traveller_a_school_and_an_archivist_need_no_scripts() {
    travel("chromium", &JOURNEYS, &json!({"scripts": false}));
}

#[test]
#[ignore = "needs node, firefox and npm packages"]
fn a_traveller_a_school_and_an_archivist_may_use_firefox() {
    travel("firefox", &JOURNEYS, &json!({"scripts": true}));
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn journeys_need_no_mouse() {
    travel("chromium", &JOURNEYS, &json!({"scripts": false, "keyboard": true}));
}

#[test]
#[ignore = "needs node, firefox and npm packages"]
fn a_traveller_with_firefox_needs_no_mouse() {
    travel("firefox", &["traveller"], &json!({"scripts": false, "keyboard": true}));
}

/// Prints the number of clicks and the seconds from `serve` to the first HTTPS page that is read
/// offline.
#[test]
#[ignore = "needs node, chromium and npm packages"]
fn the_first_https_page_needs_few_clicks() {
    let tools = Tools::here();
    let _alone = heavy();
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let stage = Stage::untrusted();
    let settings = json!({"browser": "chromium", "scripts": true, "journey": "first-page",
        "began": u64::try_from(began.as_millis()).unwrap()});
    tools.run("journeys.mjs", "first-page", &stage, &settings);
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn every_page_is_valid_and_accessible() {
    let tools = Tools::here();
    let _alone = heavy();
    let stage = Stage::set();
    rich::furnish(&stage);
    tools.run("pages.mjs", "pages", &stage, &json!({ "shots": std::env::var("UI_SHOTS").ok() }));
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn pages_without_content_are_valid_and_accessible() {
    let tools = Tools::here();
    let _alone = heavy();
    let mut stage = Stage::set();
    stage.daemon.set_password("only me");
    let paths = [
        "/",
        "/index/",
        "/collections/",
        "/queue/",
        "/fetches/",
        "/monitor/",
        "/search/",
        "/statistics/",
        "/purge/",
        "/configuration/",
    ];
    let settings = json!({ "shots": std::env::var("UI_SHOTS").ok(), "paths": paths });
    tools.run("pages.mjs", "empty", &stage, &settings);
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn pages_support_right_to_left_languages() {
    let tools = Tools::here();
    let _alone = heavy();
    let mut stage = Stage::set();
    mirrored::speak(&mut stage.daemon);
    rich::furnish(&stage);
    tools.run("mirrored.mjs", "mirrored", &stage, &json!({"lang": mirrored::TAG}));
}

#[test]
#[ignore = "needs lynx, node and npm packages"]
fn every_page_is_read_as_text() {
    let tools = Tools::here();
    let lynx = program(&["lynx"]);
    let _alone = heavy();
    let stage = Stage::set();
    rich::furnish(&stage);
    tools.run("text.mjs", "text", &stage, &json!({"lynx": lynx}));
}
