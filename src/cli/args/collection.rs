//! The arguments of `wwwoffle collection`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ScheduleFlags;
use wwwoffle_api::Colour;

/// The subcommands of `collection`. `NAME` is the name of a collection, or its id.
#[derive(Debug, Subcommand)]
pub(crate) enum CollectionVerb {
    /// List the collections.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a collection and its members.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// The collection.
        name: String,
    },
    /// Make a collection.
    Create {
        #[command(flatten)]
        about: CollectionFlags,
        /// Its name.
        name: String,
    },
    /// Change the name, the note or the colour of a collection, or who sees it.
    Edit {
        /// The new name.
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
        #[command(flatten)]
        about: CollectionFlags,
        /// Only you see it.
        #[arg(long, conflicts_with = "for_everyone")]
        private: bool,
        /// The collection.
        name: String,
    },
    /// Add pages, sites and searches to a collection.
    Add {
        #[command(flatten)]
        members: MemberFlags,
        /// Also add all URLs in this file: a page, bookmarks or any text; - is standard input.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// The collection.
        name: String,
        /// The pages, in any spelling.
        #[arg(value_name = "URL")]
        urls: Vec<String>,
    },
    /// Remove pages, sites and searches from a collection. Their saved copies stay.
    Rm {
        #[command(flatten)]
        members: MemberFlags,
        /// The collection.
        name: String,
        /// The pages, in any spelling.
        #[arg(value_name = "URL")]
        urls: Vec<String>,
    },
    /// Delete a collection. The saved pages stay.
    Delete {
        /// The collection.
        name: String,
    },
    /// Undo the deletion of a collection, within an hour.
    Restore {
        /// The name of the deletion, which `delete` printed.
        removal: String,
    },
    /// Fetch the pages of a collection again.
    Fetch {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// The collection.
        name: String,
    },
    /// Keep a collection up to date: fetch its pages on a schedule.
    Schedule {
        /// End the schedule.
        #[arg(long, conflicts_with_all = ["how-often", "at", "months", "days", "weekdays", "hours"])]
        never: bool,
        #[command(flatten)]
        when: ScheduleFlags,
        /// The collection.
        name: String,
    },
    /// Print a collection as a file for `import`, without the pages.
    ///
    /// `wwwoffle export --collection NAME FILE.wacz` writes a file with the pages.
    Share {
        /// The collection.
        name: String,
    },
    /// Make a collection of a file of another wwwoffle. If it is a WACZ, also import its pages.
    Import {
        /// The file: what `share` has printed, or a WACZ; - is standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// What people see of a collection.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CollectionFlags {
    /// A note about it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Its colour.
    #[arg(long, value_name = "COLOUR")]
    pub(crate) colour: Option<ColourName>,
    /// Everyone who uses this proxy sees it.
    #[arg(long)]
    pub(crate) for_everyone: bool,
}

/// Sites and searches.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MemberFlags {
    /// A site, such as example.co.uk: everything that is saved of it; may be repeated.
    #[arg(long, value_name = "SITE")]
    pub(crate) site: Vec<String>,
    /// A search: the pages that have these words; may be repeated.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Vec<String>,
}

/// The name of a colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColourName(pub(crate) Colour);

impl ValueEnum for ColourName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ColourName; Colour::ALL.len()] = [
            ColourName(Colour::Grey),
            ColourName(Colour::Red),
            ColourName(Colour::Orange),
            ColourName(Colour::Green),
            ColourName(Colour::Teal),
            ColourName(Colour::Blue),
            ColourName(Colour::Purple),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}
