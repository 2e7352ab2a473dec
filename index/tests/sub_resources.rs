//! The stored sub-resources of pages: for which viewer, how deep, and each only once.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use support::{index, open, place, store, store_at};
use wwwoffle_index::SubResources;

#[test]
fn sub_resources_are_gathered_with_theirs_but_not_links() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    let at = |second: i64| 1_700_000_000 + second;
    let page = "http://a.example/page";
    store(
        &spool,
        page,
        "part http://a.example/style\npart http://b.example/frame\nspare http://a.example/icon\n\
         link http://a.example/linked\npart http://a.example/missing\npart http://a.example/hers",
    );
    let style = "part http://c.example/font\npart http://a.example/style";
    store_at(&spool, &place("http://a.example/style"), 200, "text/css", style, at(1));
    store(&spool, "http://b.example/frame", "part http://b.example/image\nlink http://b.example/2");
    store(&spool, "http://a.example/linked", "part http://a.example/other");
    for url in ["a.example/icon", "c.example/font", "b.example/image", "a.example/other"] {
        store_at(&spool, &place(&format!("http://{url}")), 200, "image/png", "png", at(2));
    }
    let hers = place("http://a.example/hers").owned_by("ada");
    store_at(&spool, &hers, 200, "image/png", "png", at(3));
    index.wait_until_current(true).unwrap();

    let of_page = [
        "a.example/icon",
        "a.example/style",
        "b.example/frame",
        "b.example/image",
        "c.example/font",
    ];
    for (owner, personal) in [(None, 1), (Some("bob"), 1), (Some("ada"), 0)] {
        let mut found = SubResources::of_owner(owner.map(str::to_owned));
        index.gather_sub_resources(&mut found, &[place(page)]).unwrap();
        let mut urls: Vec<_> = found.items.iter().map(|item| item.place.url().to_owned()).collect();
        urls.sort_unstable();
        let mut want: Vec<_> = of_page.iter().map(|url| format!("http://{url}")).collect();
        want.extend((personal == 0).then(|| "http://a.example/hers".to_owned()));
        want.sort_unstable();
        assert_eq!((urls, found.personal, found.is_cut), (want, personal, false), "{owner:?}");
        // A sub-resource that is given as a page is not gathered too. A later call adds only
        // further sub-resources.
        let more = [place("http://a.example/linked"), place("http://a.example/other")];
        let before = found.items.len();
        index.gather_sub_resources(&mut found, &more).unwrap();
        assert_eq!(found.items.len(), before);
    }
}
