//! The archive tier, which several nodes share.

use crate::{
    source::rule::UrlRules,
    values::{
        amounts::{AgeLimit, SizeLimit},
        tier::{
            CatalogueAddress, CredentialsFile, ObjectBucket, ShortName, StoreEndpoint, TierRole,
        },
    },
};

impl TierOptions {
    /// Whether the object store or the catalogue is at `host`.
    #[must_use]
    pub fn has_engine_at(&self, host: &str) -> bool {
        let Some(database) = self.catalogue.database() else { return false };
        let store = self.endpoint.url().and_then(|url| url.split_once("://"));
        // Without a path, but perhaps with a port.
        let store = store.map_or("amazonaws.com", |(_, rest)| rest.trim_end_matches('/'));
        let is_port = |rest: &str| rest.is_empty() || rest.starts_with(':');
        let is_store = |host: &str| store.strip_prefix(host).is_some_and(is_port);
        // The name of a bucket may come first.
        let mut names = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
        host == database.host || is_store(host) || names.any(is_store)
    }
}

section! {
    /// The archive tier: an object store and a database that several nodes share. Without both, the node works alone.
    "tier" => TierOptions {
        /// The bucket that stores the entries of all nodes.
        "objects" => objects: ObjectBucket = r#""""#, Restart, Access;
        /// The address of the object store.
        "endpoint" => endpoint: StoreEndpoint = r#""""#, Restart, Access;
        /// The region of the object store.
        "region" => region: ShortName = r#""us-east-1""#, Restart, Ordinary;
        /// Whether the bucket is part of the path of an object's URL, and not of its host name.
        "path-style" => path_style: bool = "true", Restart, Ordinary;
        /// The database that lists the entries of all nodes.
        "catalogue" => catalogue: CatalogueAddress = r#""""#, Restart, Access;
        /// The file with the keys of the object store and the password of the catalogue. What the file lacks is taken from the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `PGPASSWORD`.
        "credentials" => credentials: CredentialsFile = r#""""#, Restart, Path;
        /// The name of this node in the catalogue; "" takes the name of the machine.
        "node" => node: ShortName = r#""""#, Restart, Ordinary;
        /// Whether this node adds its entries to the tier, or only reads.
        "role" => role: TierRole = r#""read-write""#, Restart, Ordinary;
        /// Whether entries of these URLs are added to the tier and looked up in it. Only pages that came from a public address are added, never those of one person.
        "share" => share: UrlRules<bool> = "true", Live, Access;
        /// Whether pages that came through a parent proxy are added too. The address of their origins is unknown, so they can be pages of your own network.
        "share-proxied" => share_proxied: bool = "false", Live, Access;
        /// Whether the queue is shared: offline, other nodes fetch what this node has queued; online, this node fetches for them. Only requests for public pages are shared, without an owner, a login or a cookie.
        "share-queue" => share_queue: bool = "true", Live, Access;
        /// The longest body of an entry that is added.
        "max-body" => max_body: SizeLimit = r#""1GB""#, Live, Ordinary;
        /// How long entries stay in the tier after they were stored. Give all nodes that add entries the same value.
        "expire" => expire: AgeLimit = r#""never""#, Live, Ordinary;
        /// How many bytes are sent to the object store in a second.
        "rate" => rate: SizeLimit = r#""none""#, Live, Ordinary;
    }
}
