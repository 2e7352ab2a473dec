//! The pages of a site as a tree of the folders in their addresses.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hyper::Response;
use wwwoffle_index::{Error, Folder, FolderName};

use super::page::tree::{self as page, TreeNode, TreePage};
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::caller::Caller;
use crate::site::search::call::query_index;
use crate::storage::lists::found::ListSource;
use crate::storage::lists::query::ListQuery;

/// Maximum number of hosts of a site that are shown.
const HOSTS: usize = 20;

/// Maximum number of names that are shown of one folder.
const NAMES: usize = 100;

/// Maximum number of levels below the start of the tree that are shown.
const LEVELS: usize = 4;

/// Time after which no further folders are opened.
const PATIENCE: Duration = Duration::from_millis(200);

/// A folder whose content is not known yet.
struct UnopenedFolder {
    /// The indexes of the nodes that lead to it.
    way: Vec<usize>,
    scheme: String,
    host: String,
    path: String,
}

/// Shows the tree of a site. The arguments `host` and `folder` name a folder, with which the tree
/// begins.
pub(super) async fn show(caller: &Caller, site: &str, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let start = form.value("host").and_then(|host| host.split_once("://"));
    let start = start.map(|(scheme, host)| (scheme.to_owned(), host.to_owned()));
    let folder = form.value("folder").unwrap_or("/");
    // Another path would show a part of a name as a folder.
    let folder = if folder.starts_with('/') && folder.ends_with('/') { folder } else { "/" };
    let (named, folder) = (site.to_owned(), folder.to_owned());
    let begin = folder.clone();
    let look = move |source: &ListSource<'_>, _: &ListQuery| {
        let hosts = match start {
            Some(host) => vec![host],
            None => source.index.hosts_of_site(source.viewer, &named, HOSTS + 1)?,
        };
        let is_cut = hosts.len() > HOSTS;
        let hosts: Vec<_> = hosts.into_iter().take(HOSTS).collect();
        let mut nodes: Vec<_> = hosts
            .iter()
            .map(|(scheme, host)| TreeNode::host(&named, scheme, host, &begin))
            .collect();
        let mut ahead: VecDeque<_> = hosts
            .into_iter()
            .enumerate()
            .map(|(at, (scheme, host))| UnopenedFolder {
                way: vec![at],
                scheme,
                host,
                path: begin.clone(),
            })
            .collect();
        open(source, &named, &mut nodes, &mut ahead)?;
        Ok((nodes, is_cut))
    };
    match query_index(caller, ListQuery::of_everything(), look).await {
        Ok((nodes, is_cut)) => {
            let is_part = form.value("host").is_some();
            caller.page(page::page(&caller.shell, &TreePage { site, is_part, is_cut, nodes }))
        }
        Err(error) => caller.page(page::refused(&caller.shell, site, &error_chain(&error))),
    }
}

/// Opens folders, those near the beginning first, until the page is full or the time has passed.
fn open(
    source: &ListSource<'_>,
    site: &str,
    nodes: &mut [TreeNode],
    ahead: &mut VecDeque<UnopenedFolder>,
) -> Result<(), Error> {
    let (until, mut room) = (Instant::now() + PATIENCE, page::ROOM);
    while let Some(UnopenedFolder { way, scheme, host, path }) = ahead.pop_front() {
        if Instant::now() > until || way.len() > LEVELS {
            break;
        }
        let found = source.index.folder(source.viewer, (&scheme, &host), &path, NAMES)?;
        let Some(node) = node_at(nodes, &way) else { continue };
        let Folder { names, is_cut } = found;
        let mut children = Vec::new();
        for name in names {
            let child = match &name {
                FolderName::Folder(below) => TreeNode::folder(site, (&scheme, &host), &path, below),
                FolderName::Page(item) => TreeNode::page(item, &path),
            };
            let Some(left) = room.checked_sub(child.cost()) else {
                node.is_cut = true;
                break;
            };
            room = left;
            if let FolderName::Folder(below) = name {
                let mut way = way.clone();
                way.push(children.len());
                let (scheme, host) = (scheme.clone(), host.clone());
                ahead.push_back(UnopenedFolder { way, scheme, host, path: below });
            }
            children.push(child);
        }
        node.is_cut |= is_cut;
        node.is_open = true;
        node.children = children;
    }
    Ok(())
}

/// The node to which these indexes lead.
fn node_at<'a>(nodes: &'a mut [TreeNode], way: &[usize]) -> Option<&'a mut TreeNode> {
    let (first, rest) = way.split_first()?;
    let mut node = nodes.get_mut(*first)?;
    for at in rest {
        node = node.children.get_mut(*at)?;
    }
    Some(node)
}
