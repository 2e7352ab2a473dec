use wwwoffle_url::LocalHost;

use super::edit::{check_member, is_id, member_key, new_id, of_definition};
use super::*;
use wwwoffle_api::{CollectionDefinition, CollectionRequest, Member, SavedSearch};

const ID: &str = "00000000000000aa";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn empty() -> CollectionFile {
    CollectionFile::parse(None, Some("local")).unwrap()
}

fn named(name: &str) -> CollectionRequest {
    CollectionRequest { name: Some(name.to_owned()), ..CollectionRequest::default() }
}

fn page(url: &str) -> MemberItem {
    MemberItem { member: Member::Page { url: url.to_owned() }, title: None, added: None }
}

fn keys(items: &[MemberItem]) -> Vec<String> {
    items.iter().map(|item| member_key(&item.member)).collect()
}

#[test]
fn a_collection_is_made_once_and_changed() {
    let mut file = empty();
    let made = file.save(&named(" Green \u{a0} tea "), ID, at(1)).unwrap();
    assert_eq!((made.name.as_str(), made.created, made.changed), ("Green tea", at(1), at(1)));
    // The same form again.
    assert_eq!(file.save(&named("Green tea"), ID, at(2)).unwrap(), made);
    let note = CollectionRequest { note: Some("a\r\nb ".to_owned()), ..Default::default() };
    let changed = file.save(&note, ID, at(3)).unwrap();
    assert_eq!((changed.note.as_str(), changed.name.as_str()), ("a\nb", "Green tea"));
    assert_eq!((changed.created, changed.changed), (at(1), at(3)));
    assert_eq!(file.collections.len(), 1);
    assert!(matches!(
        file.save(&named("GREEN TEA"), &new_id().unwrap(), at(4)),
        Err(CollectionError::NameTaken)
    ));
}

#[test]
fn invalid_fields_change_nothing() {
    let mut file = empty();
    let long = "x".repeat(MAX_NAME + 1);
    for name in ["", "  ", &long] {
        assert!(matches!(file.save(&named(name), ID, at(1)), Err(CollectionError::Name)), "{name}");
    }
    let note = CollectionRequest { note: Some("x".repeat(MAX_NOTE + 1)), ..named("Tea") };
    assert!(matches!(file.save(&note, ID, at(1)), Err(CollectionError::Note)));
    for id in ["", "..", "00000000000000AA", "00000000000000aaa"] {
        assert!(!is_id(id));
        assert!(matches!(file.save(&named("Tea"), id, at(1)), Err(CollectionError::Id)), "{id}");
    }
    assert_eq!(file, empty());
    for number in 0..MAX_COLLECTIONS {
        file.save(&named(&format!("Tea {number}")), &format!("{number:016x}"), at(1)).unwrap();
    }
    assert!(matches!(
        file.save(&named("One more"), &"f".repeat(16), at(1)),
        Err(CollectionError::TooMany)
    ));
}

#[test]
fn members_are_added_once_removed_and_restored() {
    let mut file = empty();
    file.save(&named("Tea"), ID, at(1)).unwrap();
    let [a, b] = [page("http://a.example/"), page("http://b.example/")];
    assert_eq!(file.add(ID, &[a.clone(), b.clone(), a.clone()], at(2)).unwrap(), 2);
    assert_eq!(file.add(ID, std::slice::from_ref(&a), at(3)).unwrap(), 0);
    let members = |file: &CollectionFile| keys(&file.find(ID).unwrap().members);
    let (removal, count) = file.remove(ID, &keys(std::slice::from_ref(&a)), at(4)).unwrap();
    assert_eq!((count, members(&file)), (1, keys(std::slice::from_ref(&b))));
    assert_eq!(file.restore(&removal, at(5)).unwrap(), ID);
    assert_eq!(members(&file), keys(&[b, a]));
    assert!(matches!(file.restore(&removal, at(6)), Err(CollectionError::TooLate)));
    assert!(matches!(file.add("0000000000000000", &[], at(7)), Err(CollectionError::Unknown)));
}

#[test]
fn a_deleted_collection_is_restored_for_an_hour() {
    let mut file = empty();
    let tea = file.save(&named("Tea"), ID, at(1)).unwrap();
    let removal = file.delete(ID, at(10)).unwrap();
    assert!(file.find(ID).is_none());
    assert!(matches!(file.delete(ID, at(10)), Err(CollectionError::Unknown)));
    // Another collection took its name.
    let other = new_id().unwrap();
    file.save(&named("Tea"), &other, at(11)).unwrap();
    assert!(matches!(file.restore(&removal, at(12)), Err(CollectionError::NameTaken)));
    let second = file.delete(&other, at(13)).unwrap();
    assert_eq!(file.restore(&removal, at(14)).unwrap(), ID);
    assert_eq!(file.find(ID), Some(&tea));
    file.delete(ID, at(13 + 3_600)).unwrap();
    assert!(matches!(file.restore(&second, at(13 + 3_601)), Err(CollectionError::TooLate)));
    // A clock that went back does not keep deletions for ever.
    file.save(&named("Coffee"), &other, at(5)).unwrap();
    file.delete(&other, at(5)).unwrap();
    assert_eq!(file.removed.len(), 1);
}

#[test]
fn members_have_a_canonical_form() {
    let local = LocalHost::new(&["localhost"], 8080, None).unwrap();
    let page = |url: &str| Member::Page { url: url.to_owned() };
    let site = |site: &str| Member::Site { site: site.to_owned() };
    let search = |words: &str, since: &str| {
        let (words, since) = (words.to_owned(), since.to_owned());
        Member::Search(SavedSearch { words, since, ..SavedSearch::default() })
    };
    for (given, want) in [
        (page(" HTTP://user:pw@A.example "), Some(page("http://a.example/"))),
        (page("http://localhost:8080/index/"), None),
        (page(&format!("http://a.example/{}", "x".repeat(70_000))), None),
        (site(" Example.CO.uk "), Some(site("example.co.uk"))),
        (site("127.0.0.1"), Some(site("127.0.0.1"))),
        (site("a/b"), None),
        (site("a\u{202e} b"), None),
        (site(""), None),
        (search(" black tea ", ""), Some(search("black tea", ""))),
        (search("tea", "2026-11-20"), Some(search("tea", "2026-11-20"))),
        (search("tea", "yesterday"), None),
        (search("-milk", ""), None),
        (search(&"x".repeat(MAX_WORDS + 1), ""), None),
    ] {
        let checked = check_member(given.clone(), &local);
        assert_eq!(checked.ok(), want, "{given:?}");
    }
}

#[test]
fn a_collection_has_a_bound() {
    let mut file = empty();
    file.save(&named("Tea"), ID, at(1)).unwrap();
    let some = |range: std::ops::Range<usize>| -> Vec<_> {
        range.map(|number| page(&format!("http://a.example/{number}"))).collect()
    };
    file.add(ID, &some(0..MAX_MEMBERS), at(2)).unwrap();
    let more = some(MAX_MEMBERS..MAX_MEMBERS + 1);
    assert!(matches!(file.add(ID, &more, at(3)), Err(CollectionError::Full)));
    let other = new_id().unwrap();
    file.save(&named("Long"), &other, at(4)).unwrap();
    let long: Vec<_> =
        (0..30).map(|n| page(&format!("http://a.example/{n}{}", "x".repeat(8_000)))).collect();
    assert!(matches!(file.add(&other, &long, at(5)), Err(CollectionError::Full)));
    assert!(file.find(&other).unwrap().members.is_empty());
}

#[test]
fn a_definition_becomes_a_collection() {
    let mut file = empty();
    file.save(&named("Tea"), ID, at(1)).unwrap();
    file.add(ID, &[page("http://a.example/")], at(2)).unwrap();
    let definition = CollectionDefinition::from(file.find(ID).unwrap());
    let local = LocalHost::default();
    let taken = ["tea".to_owned(), "tea 2".to_owned()];
    let made = of_definition(definition.clone(), &taken, &local, at(3)).unwrap();
    assert_eq!((made.name.as_str(), made.members.len()), ("Tea 3", 1));
    assert_ne!(made.id, ID);
    let newer =
        CollectionDefinition { format: "wwwoffle-collection 2".into(), ..definition.clone() };
    assert!(matches!(
        of_definition(newer, &[], &local, at(3)),
        Err(CollectionError::Definition(_))
    ));
    let bad = CollectionDefinition { members: vec![page("javascript:alert(1)")], ..definition };
    assert!(of_definition(bad, &[], &local, at(3)).is_err());
}

#[test]
fn a_file_of_another_version_is_refused() {
    let file = empty();
    let text = serde_json::to_string(&file).unwrap();
    assert_eq!(CollectionFile::parse(Some(&text), None).unwrap(), file);
    for text in ["", "{}", "x", &text.replace("collections 1", "collections 2")] {
        let parsed = CollectionFile::parse(Some(text), None);
        assert!(matches!(parsed, Err(CollectionError::Format(_))), "{text}");
    }
}
