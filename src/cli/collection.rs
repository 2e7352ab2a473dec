//! `wwwoffle collection`: named sets of pages, sites and searches.

use std::path::Path;

use wwwoffle_archive::collection_in;
use wwwoffle_url::url_encode_form_args;

use super::args::{CollectionFlags, CollectionVerb, ImportArgs, MemberFlags, ProfileArgs};
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_json, print_lines};
use super::{Terminal, VerbContext, exchange, get, monitor};
use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::base::shown;
use wwwoffle_api::{
    Collection, CollectionChoice, CollectionDefinition, CollectionFetch, CollectionList,
    CollectionRemoval, CollectionRequest, CollectionSchedule, Member, MembersRequest, SavedSearch,
};

/// The longest file of a collection, in bytes. It may be written with more white space.
const MAX_FILE: u64 = 640 << 10;

/// Runs a subcommand of `collection`.
pub(super) fn run(verb: CollectionVerb, context: &mut VerbContext<'_>) -> VerbResult {
    let control = context.settings.control()?;
    let terminal = &mut context.terminal;
    match verb {
        CollectionVerb::List { json } => {
            let list: CollectionList = control.get("/api/collections")?;
            print_lines(&list, json, terminal.stdout, list.collections.iter().map(line))
        }
        CollectionVerb::Show { json, name } => {
            let one = find(&control, &name)?;
            let members = one.members.iter().map(|item| member_line(&item.member));
            let note = Some(shown::line(&one.note)).filter(|note| !note.is_empty());
            let lines = std::iter::once(line(&one)).chain(note).chain(members);
            print_lines(&one, json, terminal.stdout, lines.collect::<Vec<_>>())
        }
        CollectionVerb::Create { about, name } => {
            let wanted = CollectionRequest { name: Some(name), ..request(about, false) };
            save(&control, &wanted, terminal)
        }
        CollectionVerb::Edit { rename, about, private, name } => {
            let id = Some(find(&control, &name)?.id);
            save(
                &control,
                &CollectionRequest { id, name: rename, ..request(about, private) },
                terminal,
            )
        }
        CollectionVerb::Add { members, from, name, urls } => {
            let urls = get::with_urls_of(from.as_deref(), &ProfileArgs::default(), urls, terminal)?;
            change(&control, &name, (urls, members), true, terminal)
        }
        CollectionVerb::Rm { members, name, urls } => {
            change(&control, &name, (urls, members), false, terminal)
        }
        CollectionVerb::Delete { name } => {
            let choice = CollectionChoice { id: find(&control, &name)?.id };
            let gone: CollectionRemoval = control.post("/api/collections/delete", &choice)?;
            writeln!(
                terminal.stdout,
                "deleted; `wwwoffle collection restore {}` undoes it within an hour",
                gone.removal
            )?;
            Ok(ExitStatus::Done)
        }
        CollectionVerb::Restore { removal } => {
            let wanted = CollectionRemoval { removal };
            print_one(&control.post("/api/collections/restore", &wanted)?, terminal)
        }
        CollectionVerb::Fetch { json, name } => fetch(&control, &name, json, terminal),
        CollectionVerb::Schedule { never, when, name } => {
            let schedule = if never {
                None
            } else {
                let schedule = monitor::schedule(&when)
                    .map_err(|error| VerbFailure::usage(format_args!("collection: {error}")))?;
                Some(schedule.to_string())
            };
            let wanted = CollectionSchedule { id: find(&control, &name)?.id, schedule };
            print_one(&control.post("/api/collections/schedule", &wanted)?, terminal)
        }
        CollectionVerb::Share { name } => {
            let id = find(&control, &name)?.id;
            let path = format!("/api/collections/definition?id={id}");
            let definition: CollectionDefinition = control.get(&path)?;
            print_json(&definition, terminal.stdout)?;
            Ok(ExitStatus::Done)
        }
        CollectionVerb::Import { file } => import(&control, &file, context),
    }
}

fn request(about: CollectionFlags, private: bool) -> CollectionRequest {
    let for_everyone = match (about.for_everyone, private) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let colour = about.colour.map(|name| name.0);
    CollectionRequest { note: about.note, colour, for_everyone, ..CollectionRequest::default() }
}

/// Returns the collection with a name or an id.
fn find(control: &Control, name: &str) -> VerbResult<Collection> {
    let path = format!("/api/collections/one?id={}", url_encode_form_args(name.as_bytes()));
    control.get(&path)
}

fn save(control: &Control, wanted: &CollectionRequest, terminal: &mut Terminal<'_>) -> VerbResult {
    print_one(&control.post("/api/collections", wanted)?, terminal)
}

fn print_one(one: &Collection, terminal: &mut Terminal<'_>) -> VerbResult {
    writeln!(terminal.stdout, "{}", line(one))?;
    Ok(ExitStatus::Done)
}

/// Adds or removes members.
fn change(
    control: &Control,
    name: &str,
    (urls, flags): (Vec<String>, MemberFlags),
    is_added: bool,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    let search = |words| Member::Search(SavedSearch { words, ..SavedSearch::default() });
    let mut members: Vec<_> = urls.into_iter().map(|url| Member::Page { url }).collect();
    members.extend(flags.site.into_iter().map(|site| Member::Site { site }));
    members.extend(flags.search.into_iter().map(search));
    if members.is_empty() {
        return Err(VerbFailure::usage("collection: name a URL, a --site or a --search"));
    }
    let id = find(control, name)?.id;
    let wanted = if is_added {
        MembersRequest { id, add: members, remove: Vec::new() }
    } else {
        MembersRequest { id, add: Vec::new(), remove: members }
    };
    print_one(&control.post("/api/collections/members", &wanted)?, terminal)
}

fn fetch(control: &Control, name: &str, json: bool, terminal: &mut Terminal<'_>) -> VerbResult {
    let choice = CollectionChoice { id: find(control, name)?.id };
    let done: CollectionFetch = control.post("/api/collections/fetch", &choice)?;
    if json {
        print_json(&done, terminal.stdout)?;
    } else {
        writeln!(terminal.stdout, "queued: {}", done.queued)?;
        if let Some(reason) = &done.reason {
            let reason = shown::line(reason);
            writeln!(terminal.stderr, "wwwoffle: not queued: {}, such as: {reason}", done.refused)?;
        }
    }
    Ok(if done.refused == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Makes a collection of a file. The pages of a WACZ are imported first, so that the collection
/// shows them.
fn import(control: &Control, file: &Path, context: &mut VerbContext<'_>) -> VerbResult {
    let is_wacz = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("wacz"));
    let text = if is_wacz {
        let found = collection_in(file)
            .map_err(|error| VerbFailure::failed("the collection cannot be read", &error))?;
        found.ok_or_else(|| {
            let what = "the WACZ has no collection: `wwwoffle import FILE` imports its pages";
            VerbFailure::plain(what)
        })?
    } else {
        get::read(file, MAX_FILE, &mut context.terminal)?
    };
    let definition: CollectionDefinition = serde_json::from_slice(&text).map_err(|error| {
        let what = format!("{} is not a collection", shown::line(&file.to_string_lossy()));
        VerbFailure::failed(what, &error)
    })?;
    let status = if is_wacz { pages(file, context)? } else { ExitStatus::Done };
    let made: Collection = control.post("/api/collections/import", &definition)?;
    print_one(&made, &mut context.terminal)?;
    Ok(status)
}

fn pages(file: &Path, context: &mut VerbContext<'_>) -> VerbResult {
    let typed = ImportArgs {
        replace: false,
        dry_run: false,
        everyone: false,
        owner: Owner::Local,
        max_size: None,
        scheme: "https".to_owned(),
        json: false,
        paths: vec![file.to_owned()],
    };
    exchange::run(&typed, context)
}

/// Formats id, number of members, name, and what else is set.
fn line(one: &Collection) -> String {
    let everyone = if one.for_everyone { "  (for everyone)" } else { "" };
    let schedule = one.schedule.as_deref().map(|line| format!("  [{}]", shown::line(line)));
    format!(
        "{}  {:>4}  {:<6}  {}{everyone}{}",
        shown::line(&one.id),
        one.members.len(),
        one.colour.as_str(),
        shown::line(&one.name),
        schedule.unwrap_or_default()
    )
}

fn member_line(member: &Member) -> String {
    match member {
        Member::Page { url } => format!("  {}", shown::line(url)),
        Member::Site { site } => format!("  site: {}", shown::line(site)),
        Member::Search(search) => format!("  search: {}", shown::line(&search.words)),
    }
}
