//! How the daemon runs, and the options for every request.

use crate::values::{
    amounts::{Permissions, Size, SizeLimit},
    clients::ClientHosts,
    hosts::HostList,
    password::{ControlPassword, Users},
    plain::{HostNames, InterceptListen, Listen, SpoolDir},
    quotas::Quotas,
    texts::{AccessLogTo, LanguageTag, LogTo, Program, SystemAccount},
    words::{AccessLogFormat, Durability, LogLevel},
};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// How the daemon starts: where it listens and where it stores its files.
    "startup" => Startup {
        /// The addresses and ports that browsers connect to.
        "listen" => listen: Listen = r#"["127.0.0.1:8080"]"#, Restart, Access;
        /// The addresses to which the firewall redirects connections of clients that know no proxy (REDIRECT of Linux).
        "redirect-listen" => redirect_listen: InterceptListen = "[]", Restart, Access;
        /// The addresses to which the firewall hands connections without changing their destination (TPROXY of Linux). The daemon needs the capability `CAP_NET_ADMIN` to open them.
        "tproxy-listen" => tproxy_listen: InterceptListen = "[]", Restart, Access;
        /// Whether the daemon may listen on addresses that other machines can reach although no control password is set. Other machines can then read, request pages, and manage their own requests; everything else is refused.
        "share-without-password" => share_without_password: bool = "false", Restart, Access;
        /// The directory of the spool, where all pages are stored; "" is wwwoffle in the XDG data directory.
        "spool-dir" => spool_dir: SpoolDir = r#""""#, Restart, Path;
        /// When a finished page is synced to disk, so that it survives a power cut: each page at once, a batch within a second, or none.
        "durability" => durability: Durability = r#""batch""#, Restart, Ordinary;
        /// How many connections of browsers are served at once; a further one waits to be accepted. This is also the limit of HTTP/2 requests that are answered at once, on all connections together.
        "max-connections" => max_connections: NonZeroUsize = "10000", Restart, Ordinary;
        /// How many connections one client on another machine may have at once; further ones are answered with 503. All machines behind one translated address (NAT) count as one client, and so do those of one IPv6 /64.
        "max-connections-per-client" => max_connections_per_client: NonZeroUsize = "256", Live, Ordinary;
        /// How many requests one user, or one client on another machine, may have in the queue; further ones are refused with 507. Requests from this machine without a login do not count.
        "queue-share" => queue_share: NonZeroUsize = "10000", Live, Ordinary;
        /// How much memory holds the most requested entries of the spool; it fills as they are used.
        "hot-set" => hot_set: Size = r#""64 MB""#, Restart, Ordinary;
        /// The control password, needed for every change, on a page or through the API; "" means that no password is needed. `wwwoffle passwd` prints the line. The socket in the spool needs no password.
        "password" => password: ControlPassword = r#""""#, Live, Access;
        /// The user that the daemon changes to after it has begun to listen, if root started it.
        "run-uid" => run_uid: SystemAccount = r#""""#, Restart, Access;
        /// The group that the daemon changes to after it has begun to listen, if root started it; "" is the group of the user.
        "run-gid" => run_gid: SystemAccount = r#""""#, Restart, Access;
        /// Where the log goes.
        "log-to" => log_to: LogTo = r#""stderr""#, Restart, Path;
        /// Where each request of a client is logged, with its user, URL and outcome. Passwords in URLs are left out. What people read is private: tell them, and delete the log in time.
        "access-log" => access_log: AccessLogTo = r#""""#, Restart, Path;
        /// The form of the access log.
        "access-log-format" => access_log_format: AccessLogFormat = r#""combined""#, Restart, Ordinary;
        /// The permissions of new directories in the spool. Existing directories stay as they are.
        "dir-perm" => dir_perm: Permissions = r#""0700""#, Restart, Access;
        /// The permissions of new files in the spool. Execute bits are ignored. Keys are for their owner only, and existing files stay as they are.
        "file-perm" => file_perm: Permissions = r#""0600""#, Restart, Access;
    }
}

section! {
    /// Options for every request.
    "options" => Options {
        /// Which messages are logged: those of this level and of the levels before it.
        "log-level" => log_level: LogLevel = r#""info""#, Live, Ordinary;
        /// How long to wait for an origin to accept a connection.
        "connect-timeout" => connect_timeout: Duration = r#""30s""#, Live, Ordinary;
        /// How long to wait for the address of a host.
        "dns-timeout" => dns_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How long a transfer may stall, with no byte moving, before it is abandoned.
        "socket-timeout" => socket_timeout: Duration = r#""2m""#, Live, Ordinary;
        /// How long an origin may take to begin its response, after the last byte of the request.
        "head-timeout" => head_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How long a connection stays open without a request. A browser has the same time to send the head of a request.
        "idle-timeout" => idle_timeout: Duration = r#""1m""#, Live, Ordinary;
        /// How many connections to one origin are open at once. Over HTTP/2 one connection carries all requests.
        "connections-per-host" => connections_per_host: NonZeroUsize = "16", Live, Ordinary;
        /// The largest response that is stored. A response that declares a larger size is passed through and not stored. If one turns out to be larger, perhaps because it has no end, storing stops; it continues for the clients that read it, and ends when no client is left.
        "max-body" => max_body: SizeLimit = r#""16 GB""#, Live, Ordinary;
        /// Whether a download continues to its end when its browser leaves.
        "finish-downloads" => finish_downloads: bool = "true", Live, Ordinary;
        /// How many bytes of a body of unknown length are downloaded while no client reads it. A download of the queue then asks first, as with `ask-above`; any other download ends.
        "unread-size" => unread_size: SizeLimit = r#""100 MB""#, Live, Ordinary;
        /// How long a download of unknown length may continue while no client reads it.
        "unread-time" => unread_time: Duration = r#""1h""#, Live, Ordinary;
        /// A program to run on going online, with the argument online.
        "run-online" => run_online: Program = r#""""#, Live, Program;
        /// A program to run on going offline, with the argument offline.
        "run-offline" => run_offline: Program = r#""""#, Live, Program;
        /// A program to run on changing to autodial, with the argument autodial.
        "run-autodial" => run_autodial: Program = r#""""#, Live, Program;
        /// A program to run when fetching begins and when it ends, with the arguments fetch and start, or fetch and stop.
        "run-fetch" => run_fetch: Program = r#""""#, Live, Program;
        /// A program to run when the configuration in force has changed, with the argument changed.
        "run-changed" => run_changed: Program = r#""""#, Live, Program;
        /// A program such as /usr/sbin/sendmail that sends the mails about changes of monitored pages. It gets the argument -t and the mail as standard input.
        "run-mail" => run_mail: Program = r#""""#, Live, Program;
        /// How long a program of run-online, run-offline, run-autodial, run-fetch, run-changed or run-mail may run before it is killed.
        "run-timeout" => run_timeout: Duration = r#""1m""#, Live, Ordinary;
    }
}

section! {
    /// The names of this proxy, under which its own pages are reached.
    "local-host" => LocalNames {
        /// Names and addresses of this proxy, in addition to the addresses that it listens on; the first is used in links.
        "names" => names: HostNames = r#"["localhost", "127.0.0.1", "::1"]"#, Restart, Access;
    }
}

section! {
    /// The local pages of this proxy.
    "pages" => OwnPages {
        /// The language of the local pages, such as de; "" is the language that each browser requests, if there is a translation.
        "language" => language: LanguageTag = r#""""#, Live, Ordinary;
        /// Whether devices that cannot set a proxy may read pages at addresses of this proxy, such as /http/www.example.org/. Links and forms stay within these addresses, and scripts do not run.
        "gateway" => gateway: bool = "true", Live, Ordinary;
    }
}

section! {
    /// Machines nearby, which can be reached without a connection to the Internet.
    "local-net" => LocalNet {
        /// Hosts that are requested in every mode, and whose responses are never stored.
        "hosts" => hosts: HostList = "[]", Live, Ordinary;
    }
}

section! {
    /// The machines that may use this proxy. It may listen for other machines only if this section or the next one names clients.
    "allowed-connect-hosts" => AllowedHosts {
        /// The clients that are served, in addition to this machine. The first match decides; a client without a match is refused. If the list is empty, the users of [allowed-connect-users] are served, or only this machine if there are no users either.
        "hosts" => hosts: ClientHosts = "[]", Live, Access;
        /// Hosts on this machine or on its network link (loopback, each address of its interfaces, link-local) that clients on other machines may also reach. Each is listed by the name that the client requests. If the list is empty, clients on other machines cannot reach such hosts.
        "inside" => inside: HostList = "[]", Live, Access;
    }
}

section! {
    /// The users who may use this proxy.
    "allowed-connect-users" => AllowedUsers {
        /// The users that are served, each with a password, from every machine including this one. If the list is empty, no login is required. `wwwoffle passwd USER` makes an entry.
        "users" => users: Users = "[]", Live, Access;
    }
}

section! {
    /// How much each user and client uses, and may use.
    "usage" => UsageOptions {
        /// Whether the requests and bytes of each user and client are counted by day. Quotas are counted in any case.
        "count" => count: bool = "false", Live, Access;
        /// How many days the counts are stored. Those of the current month always are.
        "keep-days" => keep_days: NonZeroUsize = "92", Live, Ordinary;
        /// How much of the connection each user, and each client without a login, may use in a day or a month, and how fast. Stored pages stay readable when a quota is reached.
        "quotas" => quotas: Quotas = "[]", Live, Access;
    }
}
