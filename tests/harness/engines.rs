//! The engines of the archive tier, started for a test: PostgreSQL, and an S3 server (`s3rver`).

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::tools::{plain, program};
use super::{Daemon, cannot_run, eventually};

/// The programs of PostgreSQL, where Debian installs them.
const POSTGRESQL: &str = "/usr/lib/postgresql/15/bin";

/// The password of the catalogue. The test makes its database, so it is no secret.
pub(crate) const PASSWORD: &str = "of-the-test";

/// The name and the secret of the key of the object store, which s3rver has built in.
pub(crate) const STORE_KEY: &str = "S3RVER";

/// The bucket that exists.
pub(crate) const BUCKET: &str = "pages";

/// Both engines. Dropping them ends them.
pub(crate) struct Engines {
    home: TempDir,
    postgres: Option<Child>,
    store: Option<Child>,
    /// The hosts of `[local-net]`.
    near: Vec<String>,
    /// The host by which nodes name the store.
    store_host: String,
    pub(crate) database: SocketAddr,
    pub(crate) objects: SocketAddr,
}

impl Engines {
    #[track_caller]
    pub(crate) fn start() -> Self {
        let home = TempDir::with_prefix("wwwoffle-tier-").unwrap();
        // PostgreSQL refuses to run as root, so its user must reach its directory.
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let [database, objects] = [(); 2].map(|()| free_address());
        let mut engines = Self {
            home,
            postgres: None,
            store: None,
            near: vec!["127.0.0.1".to_owned()],
            store_host: "127.0.0.1".to_owned(),
            database,
            objects,
        };
        engines.init();
        engines.start_postgres();
        engines.start_store();
        let created = engines.sql_in("postgres", "CREATE DATABASE archive");
        assert!(created.contains("CREATE DATABASE"), "{created}");
        engines
    }

    fn init(&self) {
        if !Path::new(POSTGRESQL).is_dir() {
            cannot_run("PostgreSQL 15 is not installed");
        }
        let (data, password) = (self.home.path().join("data"), self.home.path().join("password"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            let owned = Command::new("chown").arg("nobody").args([&data, &password]).status();
            assert!(owned.unwrap().success());
        }
        let mut command = unprivileged(&format!("{POSTGRESQL}/initdb"));
        command.args(["-A", "scram-sha-256", "-U", "wwwoffle", "--no-sync", "-E", "UTF8"]);
        command.args(["--locale", "C", "--pwfile"]).arg(&password).arg("-D").arg(&data);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Starts PostgreSQL, again on the same port.
    #[track_caller]
    pub(crate) fn start_postgres(&mut self) {
        let mut command = unprivileged(&format!("{POSTGRESQL}/postgres"));
        let port = self.database.port().to_string();
        command.arg("-D").arg(self.home.path().join("data")).args(["-p", &port]);
        let options = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "shared_buffers=16MB",
            "max_connections=20",
        ];
        for option in options {
            command.args(["-c", option]);
        }
        self.postgres = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        eventually("PostgreSQL answers", || {
            self.sql_in("postgres", "SELECT 1").contains("(1 row)")
        });
    }

    /// Starts the object store, again on the same port.
    #[track_caller]
    pub(crate) fn start_store(&mut self) {
        let modules = std::env::var_os("UI_TEST_MODULES").map(PathBuf::from);
        let script = modules.map(|modules| modules.join("s3rver/bin/s3rver.js"));
        let Some(script) = script.filter(|script| script.is_file()) else {
            cannot_run("s3rver is not installed, or UI_TEST_MODULES does not name its directory");
        };
        let mut command = plain(Command::new(program(&["node"])));
        let port = self.objects.port().to_string();
        command.arg(script).args(["-a", "127.0.0.1", "-p", &port, "--configure-bucket", BUCKET]);
        command.arg("-d").arg(self.home.path().join("objects"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("listening on")), "the object store did not start");
        // It logs each request, and must not wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        self.store = Some(child);
    }

    /// Kills PostgreSQL as a power failure would: all of its processes end.
    pub(crate) fn kill_postgres(&mut self) {
        let mut child = self.postgres.take().expect("it is running");
        // SIGQUIT ends all of its processes at once, without a checkpoint.
        let status = Command::new("kill").arg("-QUIT").arg(child.id().to_string()).status();
        assert!(status.unwrap().success());
        child.wait().unwrap();
    }

    /// Kills the object store.
    pub(crate) fn kill_store(&mut self) {
        let mut child = self.store.take().expect("it is running");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs a statement in the catalogue. Returns the output of `psql`.
    #[track_caller]
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.sql_in("archive", statement)
    }

    fn psql(&self, database: &str) -> Command {
        let mut command = Command::new(format!("{POSTGRESQL}/psql"));
        let port = self.database.port().to_string();
        command.args(["-X", "-h", "127.0.0.1", "-U", "wwwoffle", "-p", &port, database]);
        command.env("PGPASSWORD", PASSWORD);
        command
    }

    fn sql_in(&self, database: &str, statement: &str) -> String {
        let output = self.psql(database).args(["-c", statement]).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The number in the first row of a query.
    #[track_caller]
    pub(crate) fn count(&self, query: &str) -> u64 {
        let out = self.sql(query);
        let number = out.lines().nth(2).and_then(|line| line.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no number in {out}"))
    }

    /// How fast `psql` copies the rows of the catalogue out of a table and into another, for
    /// comparison.
    pub(crate) fn copy_figure(&self) -> String {
        let file = self.home.path().join("rows");
        let count = self.count("SELECT count(*) FROM wwwoffle.entries");
        self.sql("CREATE TABLE copied (LIKE wwwoffle.entries)");
        let begun = std::time::Instant::now();
        for (table, word) in [("wwwoffle.entries", "TO"), ("copied", "FROM")] {
            let done = self.sql(&format!("\\copy {table} {word} '{}'", file.display()));
            assert!(done.contains("COPY"), "{done}");
        }
        let rate = f64::from(u32::try_from(count).unwrap()) / begun.elapsed().as_secs_f64();
        format!("psql copies {rate:.0} rows/s out and in")
    }

    /// The files of all objects.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let bucket = self.home.path().join("objects").join(BUCKET);
        let mut files = super::files(&bucket);
        // s3rver writes files with the type and the MD5 beside each object.
        files.retain(|path| path.to_string_lossy().ends_with("_object"));
        files
    }

    /// Lists another host in `[local-net]` of nodes that are made from now on.
    pub(crate) fn also_near(&mut self, host: &str) {
        self.near.push(host.to_owned());
    }

    /// Names the store by another host in nodes that are made from now on.
    pub(crate) fn name_store(&mut self, host: &str) {
        host.clone_into(&mut self.store_host);
    }

    /// Sends a signal to every process of PostgreSQL, such as `STOP`.
    pub(crate) fn freeze_postgres(&self, signal: &str) {
        let main = self.postgres.as_ref().expect("it is running").id().to_string();
        let send = |ids: &mut dyn Iterator<Item = &str>| {
            let mut command = Command::new("kill");
            command.arg(format!("-{signal}")).args(ids).stderr(Stdio::null());
            command.status().unwrap().success()
        };
        // The main process first, so that it starts no others.
        assert!(send(&mut std::iter::once(&*main)), "PostgreSQL has ended");
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", &main]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        // One of them may have ended since it was listed.
        let _all_there = send(&mut children.split_whitespace());
    }

    /// A session in the catalogue that stays open.
    pub(crate) fn session(&self) -> SqlSession {
        let mut command = self.psql("archive");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        SqlSession(command.spawn().unwrap())
    }

    /// The section `[tier]` of a node, and the options that let it reach the engines in every mode.
    pub(crate) fn tier(&self, node: &str, more: &str) -> String {
        let Self { database, objects, near, store_host, .. } = self;
        let port = objects.port();
        format!(
            "[local-net]\nhosts = {near:?}\n[tier]\nobjects = \"s3://{BUCKET}/archive\"\n\
             endpoint = \"http://{store_host}:{port}\"\nnode = \"{node}\"\n\
             catalogue = \"postgresql://wwwoffle@{database}/archive?sslmode=disable\"\n\
             share-proxied = true\n{more}"
        )
    }

    /// A node of this tier, which is not running. Its origins are behind the proxy `parent`.
    pub(crate) fn node(&self, name: &str, parent: SocketAddr, more: &str) -> Daemon {
        let config = format!("{}\n[proxy]\nproxy = \"{parent}\"\n", self.tier(name, more));
        Daemon::prepare(Some(&config))
            .with_variable("AWS_ACCESS_KEY_ID", STORE_KEY)
            .with_variable("AWS_SECRET_ACCESS_KEY", STORE_KEY)
            .with_variable("PGPASSWORD", PASSWORD)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        if self.postgres.is_some() {
            self.kill_postgres();
        }
        if self.store.is_some() {
            self.kill_store();
        }
    }
}

/// A session of `psql`. Dropping it ends it.
pub(crate) struct SqlSession(Child);

impl SqlSession {
    /// Sends statements, without waiting for their results.
    pub(crate) fn send(&mut self, statements: &str) {
        let input = self.0.stdin.as_mut().expect("it is piped");
        writeln!(input, "{statements}").unwrap();
    }
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A program that does not run as root.
fn unprivileged(path: &str) -> Command {
    if !is_root() {
        return plain(Command::new(path));
    }
    let mut command = plain(Command::new(program(&["setpriv"])));
    command.args(["--reuid=nobody", "--clear-groups", "--"]).arg(path).current_dir("/");
    command
}

/// An address that is free now. An engine cannot choose its port by itself and name it.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
