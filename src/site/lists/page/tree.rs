//! The local page with the tree of a site.

use serde::Serialize;
use wwwoffle_index::Item;
use wwwoffle_url::url_encode_form_args;

use super::{ROOT, calendar, cut, encode_path, list_unavailable};
use crate::base::escape::written;
use crate::base::shown::{self, ShownUrl};
use crate::page::{RenderedPage, Shell, view};

/// Maximum size of all names on the page after escaping, in bytes.
pub(in crate::site) const ROOM: usize = 64_000;

/// Size of a name without its variable texts, in bytes.
const NODE: usize = 150;

/// Maximum length of a name, in characters.
const SHOWN_NAME: usize = 80;

/// A tree to show.
#[derive(Debug)]
pub struct TreePage<'a> {
    /// The site.
    pub site: &'a str,
    /// Whether the tree begins with a folder of a host.
    pub is_part: bool,
    /// Whether the site has more hosts.
    pub is_cut: bool,
    /// The hosts.
    pub nodes: Vec<TreeNode>,
}

/// A host, a folder or a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeNode {
    /// Its name.
    name: String,
    /// The title of a page.
    title: Option<String>,
    /// The page; `None` for a folder.
    url: Option<ShownUrl>,
    /// Address of the tree that begins with this folder; `None` for a page.
    below: Option<String>,
    /// Address of the list of the pages below a folder.
    more: Option<String>,
    /// What is in the folder.
    pub children: Vec<TreeNode>,
    /// Whether the folder was opened.
    pub is_open: bool,
    /// Whether the folder has more names.
    pub is_cut: bool,
}

/// Returns the address of the tree of a site.
#[must_use]
pub fn address(site: &str) -> String {
    format!("{ROOT}tree/{}", encode_path(site))
}

fn folder_address(site: &str, (scheme, host): (&str, &str), path: &str) -> String {
    let coded = |text: &str| url_encode_form_args(text.as_bytes());
    let host = coded(&format!("{scheme}://{host}"));
    format!("{}?host={host}&folder={}", address(site), coded(path))
}

fn list_address((scheme, host): (&str, &str), path: &str) -> String {
    let host = encode_path(&format!("{scheme}/{host}"));
    format!("{ROOT}{host}?pages=1&text={}", url_encode_form_args(path.as_bytes()))
}

impl TreeNode {
    /// Returns the node of a host, or of the folder of a host at `path`.
    #[must_use]
    pub fn host(site: &str, scheme: &str, host: &str, path: &str) -> Self {
        let name = format!("{scheme}://{host}{path}");
        Self { name: shown_name(&name), ..Self::of_folder(site, (scheme, host), path) }
    }

    /// Returns the node of the folder `below` in the folder `path`.
    #[must_use]
    pub fn folder(site: &str, host: (&str, &str), path: &str, below: &str) -> Self {
        let name = below.strip_prefix(path).unwrap_or(below);
        Self { name: shown_name(name), ..Self::of_folder(site, host, below) }
    }

    fn of_folder(site: &str, host: (&str, &str), path: &str) -> Self {
        Self {
            name: String::new(),
            title: None,
            url: None,
            below: Some(folder_address(site, host, path)),
            more: Some(list_address(host, path)),
            children: Vec::new(),
            is_open: false,
            is_cut: false,
        }
    }

    /// Returns the node of a page in the folder `path`.
    #[must_use]
    pub fn page(item: &Item, path: &str) -> Self {
        let url = item.place.url();
        let (_, rest) = url.split_once("://").unwrap_or_default();
        let rest = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default();
        let name = rest.strip_prefix(path).unwrap_or(rest);
        let title = item.title.as_deref().map(cut).filter(|title| !title.trim().is_empty());
        Self {
            name: shown_name(if name.is_empty() { "/" } else { name }),
            title,
            url: Some(ShownUrl::new(url)),
            below: None,
            more: None,
            children: Vec::new(),
            is_open: false,
            is_cut: false,
        }
    }

    /// Returns the size of the node in the page, in bytes.
    pub(in crate::site) fn cost(&self) -> usize {
        let texts =
            [Some(&self.name), self.title.as_ref(), self.below.as_ref(), self.more.as_ref()];
        let href = self.url.as_ref().and_then(|url| url.href.as_ref());
        let texts = texts.into_iter().chain([href]).flatten();
        NODE + texts.map(|text| written(text)).sum::<usize>()
    }
}

fn shown_name(name: &str) -> String {
    let name = shown::text(name);
    match name.char_indices().nth(SHOWN_NAME) {
        Some((end, _)) => format!("{} …", name.get(..end).unwrap_or_default()),
        None => name,
    }
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, tree: &TreePage<'_>) -> RenderedPage {
    let view = view! {
        site: shown::text(tree.site),
        list: format!("{ROOT}site/{}", encode_path(tree.site)),
        calendar: calendar::address(tree.site),
        whole: tree.is_part.then(|| address(tree.site)),
        nodes: &tree.nodes,
        is_cut: tree.is_cut,
        refused: None::<crate::base::text::Text>,
    };
    shell.page("lists-tree.html", 200, &view)
}

/// Renders the page if the index is not available. `why` is in English, as in the log.
#[must_use]
pub fn refused(shell: &Shell, site: &str, why: &str) -> RenderedPage {
    let view = view! {
        site: shown::text(site),
        list: format!("{ROOT}site/{}", encode_path(site)),
        calendar: calendar::address(site),
        whole: None::<String>,
        nodes: Vec::<TreeNode>::new(),
        is_cut: false,
        refused: list_unavailable(why),
    };
    shell.page("lists-tree.html", 404, &view)
}
