//! How the daemon runs, and what holds for every request.

use crate::values::{
    amounts::{Permissions, Size, SizeLimit},
    clients::ClientHosts,
    hosts::HostList,
    password::{ControlPassword, Users},
    plain::{HostNames, Listen, SpoolDir},
    texts::{Account, LanguageTag, Program},
    words::{Durability, LogLevel, LogTo},
};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// How the daemon starts: where it listens and where it keeps what it stores.
    "startup" => Startup {
        /// The addresses and ports that browsers connect to.
        "listen" => listen: Listen = r#"["127.0.0.1:8080"]"#, Restart, Access;
        /// Whether the daemon may listen on addresses that other machines reach although there is no control password. Other machines can then read, request pages, and manage their own requests; everything else is refused.
        "share-without-password" => share_without_password: bool = "false", Restart, Access;
        /// The directory of the spool, where everything is kept; "" is wwwoffle in the XDG data directory.
        "spool-dir" => spool_dir: SpoolDir = r#""""#, Restart, Path;
        /// When a finished page is made safe against a power cut: each at once, a batch within a second, or none.
        "durability" => durability: Durability = r#""batch""#, Restart, Ordinary;
        /// How many connections of browsers are served at once; one more waits to be accepted. So many requests of HTTP/2 are answered at once, too, on all connections together.
        "max-connections" => max_connections: NonZeroUsize = "10000", Restart, Ordinary;
        /// How many of them one client of another machine may have; further ones are answered with 503. All machines behind one translated address are one client, and so are those of a /64 of IPv6.
        "max-connections-per-client" => max_connections_per_client: NonZeroUsize = "256", Live, Ordinary;
        /// How many requests may wait on the queue for one user or one client of another machine; further ones are refused with 507. What is asked for on this machine without a login does not count.
        "queue-share" => queue_share: NonZeroUsize = "10000", Live, Ordinary;
        /// How much of the spool is held in memory, of what is asked for most; it fills by use.
        "hot-set" => hot_set: Size = r#""64 MB""#, Restart, Ordinary;
        /// The control password: whoever changes something, on a page or through the API, has to know it; "" asks for none. `wwwoffle passwd` makes the line. The socket in the spool needs none.
        "password" => password: ControlPassword = r#""""#, Live, Access;
        /// The user that the daemon becomes once it listens, when it was started by root.
        "run-uid" => run_uid: Account = r#""""#, Restart, Access;
        /// The group that the daemon becomes a member of once it listens, when it was started by root; "" is that of the user.
        "run-gid" => run_gid: Account = r#""""#, Restart, Access;
        /// Where the log goes.
        "log-to" => log_to: LogTo = r#""stderr""#, Restart, Path;
        /// Who may enter the directories of the spool, besides their owner; those that are there already stay as they are.
        "dir-perm" => dir_perm: Permissions = r#""0700""#, Restart, Access;
        /// Who may read and write the files of the spool, besides their owner. Execute bits are ignored. Keys are for their owner alone, and files that are there already stay as they are.
        "file-perm" => file_perm: Permissions = r#""0600""#, Restart, Access;
    }
}

section! {
    /// What holds for every request.
    "options" => Options {
        /// How much is logged: this level and those before it.
        "log-level" => log_level: LogLevel = r#""info""#, Live, Ordinary;
        /// How long to wait for an origin to accept a connection.
        "connect-timeout" => connect_timeout: Duration = r#""30s""#, Live, Ordinary;
        /// How long to wait for the address of a host.
        "dns-timeout" => dns_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How long a transfer may stand still, no byte moving, before it is given up.
        "socket-timeout" => socket_timeout: Duration = r#""2m""#, Live, Ordinary;
        /// How long an origin may take to begin its answer, after the last byte of the request.
        "head-timeout" => head_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How long a connection is kept open without a request on it; a browser that begins one has this long for its head.
        "idle-timeout" => idle_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How many connections to one origin are open at once; over HTTP/2 one is enough for all requests.
        "connections-per-host" => connections_per_host: NonZeroUsize = "16", Live, Ordinary;
        /// How much of an answer is kept at most. One that says it is larger is passed on and not kept. One that turns out to be, perhaps because it has no end, is not kept from there on: it goes on to whoever reads it, and ends when nobody does.
        "max-body" => max_body: SizeLimit = r#""16 GB""#, Live, Ordinary;
        /// Whether a download goes on to its end when the browser that asked for it leaves.
        "finish-downloads" => finish_downloads: bool = "true", Live, Ordinary;
        /// How many bytes of a body of unknown length come while no client reads it. A download of the queue then asks first, as with `ask-above`; any other one ends.
        "unread-size" => unread_size: SizeLimit = r#""100 MB""#, Live, Ordinary;
        /// How long such a body may come while no client reads it.
        "unread-time" => unread_time: Duration = r#""1h""#, Live, Ordinary;
        /// Run on going online, with the word online as its argument.
        "run-online" => run_online: Program = r#""""#, Live, Program;
        /// Run on going offline, with the word offline as its argument.
        "run-offline" => run_offline: Program = r#""""#, Live, Program;
        /// Run on changing to autodial, with the word autodial as its argument.
        "run-autodial" => run_autodial: Program = r#""""#, Live, Program;
        /// Run when fetching begins and when it ends, with the words fetch and start, or fetch and stop, as its arguments.
        "run-fetch" => run_fetch: Program = r#""""#, Live, Program;
        /// Run when the configuration in force has changed, with the word changed as its argument.
        "run-changed" => run_changed: Program = r#""""#, Live, Program;
        /// How long such a program may run before it is ended.
        "run-timeout" => run_timeout: Duration = r#""1m""#, Live, Ordinary;
    }
}

section! {
    /// The names of this proxy itself, under which its own pages are reached.
    "local-host" => LocalNames {
        /// Names and addresses that mean this proxy, besides the addresses that it listens on; the first is used in links.
        "names" => names: HostNames = r#"["localhost", "127.0.0.1", "::1"]"#, Restart, Access;
    }
}

section! {
    /// The pages of this proxy itself.
    "pages" => OwnPages {
        /// The language that they are told in, such as de; "" is the one that each browser asks for, as far as there is a catalogue of it.
        "language" => language: LanguageTag = r#""""#, Live, Ordinary;
        /// Whether devices that cannot set a proxy may read pages at addresses of this one, such as /http/www.example.org/; links and forms stay there, and scripts do not run.
        "gateway" => gateway: bool = "true", Live, Ordinary;
    }
}

section! {
    /// The machines nearby, which are reached without a line.
    "local-net" => LocalNet {
        /// Hosts that are asked in every mode, and of which nothing is kept.
        "hosts" => hosts: HostList = "[]", Live, Ordinary;
    }
}

section! {
    /// Which machines may use this proxy. It may listen for others only when this section or the next says who.
    "allowed-connect-hosts" => AllowedHosts {
        /// The clients that are served, besides this machine; the first match decides, and no match is a refusal. Without any it is whoever knows a password of [allowed-connect-users], or this machine alone.
        "hosts" => hosts: ClientHosts = "[]", Live, Access;
        /// The hosts inside, as they are asked for, that clients of other machines may reach too: names and addresses that lead to this machine (loopback, and each address of its interfaces) or to its own link (link-local). Without any they reach none of these.
        "inside" => inside: HostList = "[]", Live, Access;
    }
}

section! {
    /// Who may use this proxy.
    "allowed-connect-users" => AllowedUsers {
        /// The users that are served, each with a password, from whatever machine, also this one; without any nobody is asked. `wwwoffle passwd USER` makes the entries.
        "users" => users: Users = "[]", Live, Access;
    }
}
