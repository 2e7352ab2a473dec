//! `wwwoffle config`: shows and changes the configuration, through the daemon if one runs,
//! otherwise in its file.

use std::path::{Path, PathBuf};

use wwwoffle_config::edit::without_secrets;
use wwwoffle_config::{AppliedChange, ChangeError, Config, ConfigFile, ConfigLookup};

use super::args::{ConfigVerb, RuleOptions};
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::print_only_json;
use super::settings::config_failure;
use super::{Settings, Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::site::configuration::call::config_error;
use wwwoffle_api::{
    ConfigChange, ConfigEdit, ConfigError, ConfigOption, ConfigState, ConfigUndo, ConfigVersions,
};

/// Runs a subcommand of `config`.
pub(crate) fn run(verb: ConfigVerb, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let at = ConfigTarget::of(settings);
    match verb {
        ConfigVerb::Path => {
            // A running daemon may use another file.
            let own = || at.file().path().display().to_string();
            let path = at.state().map_or_else(|_| own(), |state| state.file);
            writeln!(terminal.stdout, "{path}")?;
        }
        ConfigVerb::Show => {
            let text = at.file().read().map_err(|error| not_changed(&error))?.text;
            terminal.stdout.write_all(without_secrets(&text).as_bytes())?;
        }
        ConfigVerb::Check { file } => return check(file, context),
        ConfigVerb::Get { json, option } => return get(&at.state()?, option, json, terminal),
        ConfigVerb::Versions => {
            for version in at.versions()?.versions {
                writeln!(terminal.stdout, "{:>6}  until {:.0}", version.version, version.until)?;
            }
        }
        ConfigVerb::Reload => {
            let change: ConfigChange =
                at.control()?.post("/api/config/reload", &serde_json::json!({}))?;
            print_effect(&change, terminal)?;
        }
        ConfigVerb::Undo { version } => print_effect(&at.undo(version)?, terminal)?,
        verb => {
            let edit = edit_of(verb)?;
            let (name, change) = (name_of(&edit), at.edit(&edit)?);
            print(&name, &change, terminal)?;
        }
    }
    Ok(ExitStatus::Done)
}

/// The target of changes of the configuration: the daemon, or else the file.
struct ConfigTarget {
    /// A client of the daemon, which is not necessarily running. `None` if the spool is unknown.
    daemon: Option<Control>,
    lookup: ConfigLookup,
    /// Whether root is the caller and another user runs the daemon.
    is_root_for_other: bool,
}

impl ConfigTarget {
    /// Returns the target. If the configuration is faulty and `--spool` is missing, the spool is
    /// unknown, so that only the file can be corrected.
    fn of(settings: &Settings<'_>) -> Self {
        Self {
            daemon: settings.control().ok(),
            lookup: settings.lookup(),
            is_root_for_other: settings.is_root_for_other(),
        }
    }

    fn file(&self) -> ConfigFile {
        ConfigFile::of(&self.lookup)
    }

    fn control(&self) -> VerbResult<&Control> {
        self.daemon.as_ref().ok_or_else(|| {
            VerbFailure::plain("the configuration does not say where the spool is: use --spool DIR")
        })
    }

    /// Returns the daemon's response. `None` if no daemon runs or the spool is unknown.
    fn ask_daemon<T>(&self, ask: impl FnOnce(&Control) -> VerbResult<T>) -> VerbResult<Option<T>> {
        match self.daemon.as_ref().map(ask) {
            None | Some(Err(VerbFailure::Said(ExitStatus::NoDaemon, _))) => Ok(None),
            Some(answer) => answer.map(Some),
        }
    }

    fn state(&self) -> VerbResult<ConfigState> {
        if let Some(state) = self.ask_daemon(|control| control.get("/api/config"))? {
            return Ok(state);
        }
        let file = self.file();
        let text = file.read().map_err(|error| not_changed(&error))?;
        ConfigState::of(&file, &text).map_err(|error| not_changed(&error.into()))
    }

    fn versions(&self) -> VerbResult<ConfigVersions> {
        if let Some(versions) = self.ask_daemon(|control| control.get("/api/config/versions"))? {
            return Ok(versions);
        }
        let versions = self.file().versions().map_err(|error| not_changed(&error))?;
        Ok(ConfigVersions::of(&versions))
    }

    fn edit(&self, edit: &ConfigEdit) -> VerbResult<ConfigChange> {
        self.change(
            |control| control.post("/api/config", edit),
            |file| file.edit(edit, None, clock::now()),
        )
    }

    fn undo(&self, version: Option<u64>) -> VerbResult<ConfigChange> {
        self.change(
            |control| control.post("/api/config/undo", &ConfigUndo { version }),
            |file| file.undo(version, None, clock::now()),
        )
    }

    /// Changes the configuration through the daemon, or in the file if no daemon runs or if the daemon
    /// may not write it.
    fn change(
        &self,
        by_daemon: impl FnOnce(&Control) -> VerbResult<ConfigChange>,
        in_file: impl FnOnce(&ConfigFile) -> Result<AppliedChange, ChangeError>,
    ) -> VerbResult<ConfigChange> {
        let is_own = self.is_file_of_root()?;
        if !is_own && let Some(change) = self.ask_daemon(by_daemon)? {
            return Ok(change);
        }
        let file = self.file();
        let mut change = changed(&file, in_file(&file))?;
        if is_own {
            let reload = |control: &Control| {
                control.post::<ConfigChange>("/api/config/reload", &serde_json::json!({}))
            };
            change.restart = self.ask_daemon(reload)?.unwrap_or_default().restart;
        }
        Ok(change)
    }

    /// Whether root is the caller, and the daemon of another user uses the file that root would
    /// change. A service usually cannot write to `/etc`. The daemon alone may not name the file,
    /// because root would then change any file for it.
    fn is_file_of_root(&self) -> VerbResult<bool> {
        if !self.is_root_for_other {
            return Ok(false);
        }
        let state = self.ask_daemon(|control| control.get::<ConfigState>("/api/config"))?;
        Ok(state.is_some_and(|state| Path::new(&state.file) == self.file().path()))
    }
}

/// Returns the result of an edit without a daemon, as a daemon would report it. No option needs a
/// restart, because no daemon runs.
fn changed(
    file: &ConfigFile,
    outcome: Result<AppliedChange, ChangeError>,
) -> VerbResult<ConfigChange> {
    let changed = outcome.map_err(|error| not_changed(&error))?;
    Ok(ConfigChange::of(file, &changed.text, changed.edited, &changed.options, &[]))
}

fn not_changed(error: &ChangeError) -> VerbFailure {
    match error {
        // Every other verb also reports an unreadable configuration with this status.
        ChangeError::Unreadable { .. } => {
            VerbFailure::Said(ExitStatus::BadConfig, shown::line(&error.to_string()))
        }
        error => change_failure(&config_error(error)),
    }
}

/// Returns the failure for a rejected change, with all faults.
pub(super) fn change_failure(error: &ConfigError) -> VerbFailure {
    let status = if error.faults.is_empty() { ExitStatus::Failed } else { ExitStatus::BadConfig };
    let mut message = shown::line(&error.error);
    for fault in &error.faults {
        message.push('\n');
        message.push_str(&shown::line(&fault.error));
    }
    VerbFailure::Said(status, message)
}

fn check(file: Option<PathBuf>, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let lookup = file.map_or_else(|| settings.lookup(), ConfigLookup::Named);
    let (config, found) = Config::find(&lookup).map_err(|faults| config_failure(&faults))?;
    match found.as_deref().map(Path::display) {
        Some(file) => writeln!(terminal.stdout, "{file}: no errors")?,
        None => writeln!(terminal.stdout, "there is no configuration file: the defaults apply")?,
    }
    for (section, key, place) in config.without_effect() {
        writeln!(terminal.stdout, "{place}: [{section}] {key:?} has no effect yet")?;
    }
    for note in config.dont_get.urls.notes() {
        writeln!(terminal.stdout, "{}", shown::line(&note.to_string()))?;
    }
    Ok(ExitStatus::Done)
}

fn get(
    state: &ConfigState,
    option: Option<String>,
    json: bool,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    let out = &mut *terminal.stdout;
    if json {
        return print_only_json(state, out);
    }
    let value = |option: &ConfigOption| option.value.clone().unwrap_or(option.default.clone());
    let section = option.clone().filter(|wanted| is_section(state, wanted));
    let is_meant = |name: &str| section.as_deref().is_none_or(|section| section == name);
    if let Some(wanted) = option.filter(|_| section.is_none()) {
        let (section, key) = split(&wanted)?;
        let known =
            state.options.iter().find(|option| option.section == section && option.key == key);
        let Some(option) = known else {
            return Err(VerbFailure::plain(format_args!(
                "unknown option {:?}: `wwwoffle config get` lists all",
                shown::text(&wanted)
            )));
        };
        writeln!(out, "{}", value(option))?;
        return Ok(ExitStatus::Done);
    }
    for option in state.options.iter().filter(|option| is_meant(&option.section)) {
        let place = option.line.map(|line| format!("{}:{line}", state.file));
        let place = place.as_deref().unwrap_or("default");
        writeln!(out, "{}.{} = {}  # {place}", option.section, option.key, value(option))?;
    }
    for rule in state.rules.iter().filter(|rule| is_meant(&rule.section)) {
        writeln!(out, "{}.for[{}]  # {}:{}", rule.section, rule.index, state.file, rule.line)?;
        writeln!(out, "  url = {:?}", rule.url)?;
        for (key, value) in &rule.options {
            writeln!(out, "  {key} = {value}")?;
        }
    }
    Ok(ExitStatus::Done)
}

fn is_section(state: &ConfigState, name: &str) -> bool {
    state.options.iter().any(|option| option.section == name)
}

/// Splits `section.key`.
fn split(option: &str) -> VerbResult<(String, String)> {
    match option.split_once('.') {
        Some((section, key)) => Ok((section.to_owned(), key.to_owned())),
        None => Err(VerbFailure::usage(format_args!(
            "expected SECTION.KEY, such as options.log-level, not {:?}",
            shown::text(option)
        ))),
    }
}

fn edit_of(verb: ConfigVerb) -> VerbResult<ConfigEdit> {
    Ok(match verb {
        ConfigVerb::Set { option, value } => {
            let (section, key) = split(&option)?;
            ConfigEdit::Set { section, key, value }
        }
        ConfigVerb::Unset { option } => {
            let (section, key) = split(&option)?;
            ConfigEdit::Unset { section, key }
        }
        ConfigVerb::Add { before, option, item } => {
            let (section, key) = split(&option)?;
            ConfigEdit::Add { section, key, item, before }
        }
        ConfigVerb::Remove { option, item } => {
            let (section, key) = split(&option)?;
            ConfigEdit::Remove { section, key, item }
        }
        ConfigVerb::AddRule { section, before, rule } => {
            let RuleOptions { url, options } = rule;
            ConfigEdit::AddRule { section, url, options: pairs(&options)?, before }
        }
        ConfigVerb::RemoveRule { section, index, url } => {
            ConfigEdit::RemoveRule { section, index, url }
        }
        verb => return Err(VerbFailure::plain(format_args!("{verb:?} is not an edit"))),
    })
}

fn pairs(options: &[String]) -> VerbResult<Vec<(String, String)>> {
    let pair = |option: &String| match option.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(VerbFailure::usage(format_args!(
            "expected KEY=VALUE, not {:?}",
            shown::text(option)
        ))),
    };
    options.iter().map(pair).collect()
}

fn name_of(edit: &ConfigEdit) -> String {
    match edit {
        ConfigEdit::Set { section, key, .. }
        | ConfigEdit::Unset { section, key }
        | ConfigEdit::Add { section, key, .. }
        | ConfigEdit::Remove { section, key, .. } => format!("{section}.{key}"),
        ConfigEdit::AddRule { section, .. }
        | ConfigEdit::RemoveRule { section, .. }
        | ConfigEdit::ReplaceRule { section, .. } => format!("{section}.for"),
    }
}

/// Prints the result of an edit.
fn print(name: &str, change: &ConfigChange, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let out = &mut *terminal.stdout;
    let place = change.line.map_or_else(String::new, |line| format!("{}:{line}: ", change.file));
    match (&change.was, &change.now) {
        (None, None) => writeln!(out, "{name} was not set")?,
        (was, now) if was == now => writeln!(out, "{place}{name} is unchanged")?,
        (None, Some(now)) => writeln!(out, "{place}{name} = {}", now.trim_end())?,
        (Some(was), Some(now)) => {
            writeln!(out, "{place}{name} = {} (was {})", now.trim_end(), was.trim_end())?;
        }
        (_, None) => writeln!(out, "{place}{name} is no longer set")?,
    }
    print_restart(change, terminal)
}

/// Prints the effect of a change of the whole text.
fn print_effect(change: &ConfigChange, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let out = &mut *terminal.stdout;
    if change.changed.is_empty() {
        writeln!(out, "{}: no option has changed", change.file)?;
    } else {
        writeln!(out, "{}: changed: {}", change.file, change.changed.join(", "))?;
    }
    print_restart(change, terminal)
}

fn print_restart(change: &ConfigChange, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    if !change.restart.is_empty() {
        let options = change.restart.join(", ");
        writeln!(
            terminal.stdout,
            "restart the daemon to apply: {options}\n`wwwoffle stop` stops it, `wwwoffle serve` \
             starts it"
        )?;
    }
    Ok(())
}
