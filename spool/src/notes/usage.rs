//! The usage of a day by user and client: the files `usage/2026-11-22`.
//!
//! Each has the form of the [statistics](super::statistics), with owners in place of hosts.

use std::path::PathBuf;

use jiff::civil::Date;

use super::statistics::{self, Statistics};
use crate::durability::Root;
use crate::error::{Damage, Result};
use crate::fs::names::names_if_any;

/// The directory of the files.
pub(crate) const USAGE: &str = "usage";

/// Reads a day. An invalid file is moved to `damaged/`, and the counts are zero.
pub(crate) fn read(root: &Root, day: Date) -> Result<(Statistics, Option<Damage>)> {
    statistics::read_at(root, &path(root, day))
}

/// Replaces the file of a day.
pub(crate) fn write(root: &Root, day: Date, usage: &Statistics) -> Result<()> {
    statistics::write_at(root, &path(root, day), usage)
}

/// Removes the file of a day. Returns false if there was none.
pub(crate) fn remove(root: &Root, day: Date) -> Result<bool> {
    root.remove_file(&path(root, day))
}

/// Lists the days, earliest first. Other names are ignored.
pub(crate) fn days(root: &Root) -> Result<Vec<Date>> {
    let mut days = Vec::new();
    for name in names_if_any(&*root.disk, &root.join(USAGE))? {
        days.extend(name?.to_str().and_then(parse_day));
    }
    days.sort();
    Ok(days)
}

/// The day that a file name stands for. Each day has only one valid spelling.
pub(crate) fn parse_day(name: &str) -> Option<Date> {
    name.parse::<Date>().ok().filter(|day| day.to_string() == name)
}

fn path(root: &Root, day: Date) -> PathBuf {
    root.join(USAGE).join(day.to_string())
}
