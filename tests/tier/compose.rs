//! The compose file of `packaging/container/tier`. No container engine runs here: the test reads the
//! file, and gives its configuration and variables to the real program and the engines of the tests.

use std::collections::BTreeMap;
use std::fs::{read_to_string, write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::shared::connected;
use crate::harness::Daemon;
use crate::harness::daemon::run;
use crate::harness::engines::{BUCKET, Engines, PASSWORD, STORE_KEY};
use crate::harness::tools::{python_with, tool};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/container/tier").join(name)
}

fn compose() -> Value {
    let mut python = python_with("yaml");
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    python.args(["-c", script]).arg(packaging("compose.yaml"));
    serde_json::from_str(&run(python, None).out).expect("it is YAML")
}

/// The variables in the file `.env` that the commands of the guide make.
fn secrets() -> BTreeMap<String, String> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/tier.md");
    let guide = read_to_string(guide).unwrap();
    let block = guide.split("```sh\n").find(|block| block.contains("cat >.env")).unwrap();
    let script = block.split("```").next().unwrap();
    // It belongs to an item of a list.
    let script: String = script.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("packaging/container");
    std::fs::create_dir_all(&copy).unwrap();
    let copied = Command::new("cp").arg("-r").arg(packaging("")).arg(&copy).status();
    assert!(copied.unwrap().success());
    let ran = tool(
        "sh",
        &["-e", "-c", &format!("cd \"$0\"\n{script}"), scratch.path().to_str().unwrap()],
        "",
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{script}");
    let file = scratch.path().join("archive/.env");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600, "only its owner reads it");
    let text = read_to_string(file).unwrap();
    text.lines()
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[test]
#[ignore = "needs python3 with yaml, and openssl"]
fn every_service_is_hardened_checked_and_has_its_secrets() {
    let (compose, secrets) = (compose(), secrets());
    let services = compose["services"].as_object().unwrap();
    let mut variables = Vec::new();
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"][0], "ALL", "{name}");
        assert_eq!(service["security_opt"][0], "no-new-privileges:true", "{name}");
        let user = service["user"].as_str().unwrap();
        if name == "owner" {
            assert!(service["network_mode"] == "none" && service["restart"] == "no", "{service}");
        } else {
            assert!(!["root", "0", "0:0"].contains(&user), "{name} runs as {user}");
        }
        // The image of wwwoffle has a health check of its own.
        let is_node = name.starts_with("node-");
        assert!(is_node || name == "owner" || service["healthcheck"]["test"][0] == "CMD", "{name}");
        for text in service["environment"].as_object().into_iter().flat_map(|all| all.values()) {
            variables.extend(text.as_str().unwrap().strip_prefix("${").map(str::to_owned));
        }
        variables.extend(
            service["image"].as_str().unwrap().strip_prefix("wwwoffle:${").map(str::to_owned),
        );
        for needed in service["depends_on"].as_object().into_iter().flat_map(|all| all.keys()) {
            assert!(services.contains_key(needed), "{name} needs {needed}");
        }
        for volume in service["volumes"].as_array().unwrap() {
            let from = volume.as_str().unwrap().split(':').next().unwrap();
            let exists = match from.strip_prefix("./") {
                // The guide makes it.
                Some("password.toml") => true,
                Some(file) => packaging(file).is_file(),
                None => compose["volumes"].get(from).is_some(),
            };
            assert!(exists, "{name} mounts {from}");
        }
    }
    for name in variables {
        let name = name.strip_suffix(":?}").expect("an unset variable is an error");
        assert!(secrets.get(name).is_some_and(|value| !value.is_empty()), "{name} in {secrets:?}");
    }
    // As Garage makes its own.
    assert_eq!(secrets["ACCESS_KEY"].strip_prefix("GK").map(str::len), Some(24), "{secrets:?}");
    assert!(secrets["SECRET_KEY"].len() == 64 && secrets["RPC_SECRET"].len() == 64, "{secrets:?}");
}

#[test]
#[ignore = "needs python3 with yaml, postgresql and s3rver"]
fn a_node_of_the_compose_file_joins_the_tier() {
    let compose = compose();
    let config = read_to_string(packaging("wwwoffle.conf")).unwrap();
    let mut daemon = Daemon::prepare(Some(&config));
    let mut passwd = daemon.bare_command();
    passwd.arg("passwd");
    let line = run(passwd, Some(b"secret\n")).out;
    write(daemon.home().join("password.toml"), line).unwrap();
    let checked = daemon.run(&["config", "check"]);
    assert_eq!(checked.status, 0, "{checked:?}");

    // The names of the file lead to each other.
    let parsed: toml::Value = toml::from_str(&config).unwrap();
    let text = |section: &str, option: &str| parsed[section][option].as_str().unwrap();
    let garage: toml::Value =
        toml::from_str(&read_to_string(packaging("garage.toml")).unwrap()).unwrap();
    let services = compose["services"].as_object().unwrap();
    for host in parsed["local-net"]["hosts"].as_array().unwrap() {
        assert!(services.contains_key(host.as_str().unwrap()), "{host}");
    }
    let bucket = services["objects"]["environment"]["GARAGE_DEFAULT_BUCKET"].as_str().unwrap();
    assert_eq!(text("tier", "objects"), format!("s3://{bucket}/pages"));
    assert_eq!(garage["s3_api"]["s3_region"].as_str(), Some(text("tier", "region")));
    let port = garage["s3_api"]["api_bind_addr"].as_str().unwrap().rsplit(':').next().unwrap();
    assert_eq!(text("tier", "endpoint"), format!("http://objects:{port}"));
    let database = &services["catalogue"]["environment"];
    let (user, name) = (database["POSTGRES_USER"].as_str(), database["POSTGRES_DB"].as_str());
    let want =
        format!("postgresql://{}@catalogue/{}?sslmode=disable", user.unwrap(), name.unwrap());
    assert_eq!(text("tier", "catalogue"), want);
    let subnet = &compose["networks"]["default"]["ipam"]["config"][0]["subnet"];
    assert_eq!(subnet.as_str(), parsed["allowed-connect-hosts"]["hosts"][0].as_str());

    // With the addresses and keys of the engines of the tests in place of its own, it works.
    let engines = Engines::start();
    let config = config
        .replace(&format!("s3://{bucket}/"), &format!("s3://{BUCKET}/"))
        .replace(&format!("objects:{port}"), &engines.objects.to_string())
        .replace("@catalogue/", &format!("@{}/", engines.database))
        .replace("[\"catalogue\", \"objects\"]", "[\"127.0.0.1\"]");
    write(daemon.config_file(), config).unwrap();
    let environment = services["node-1"]["environment"].as_object().unwrap();
    let variables = [
        ("AWS_ACCESS_KEY_ID", "${ACCESS_KEY:?}", STORE_KEY),
        ("AWS_SECRET_ACCESS_KEY", "${SECRET_KEY:?}", STORE_KEY),
        ("PGPASSWORD", "${CATALOGUE_PASSWORD:?}", PASSWORD),
    ];
    assert_eq!(environment.len(), variables.len(), "{environment:?}");
    for (name, secret, of_the_test) in variables {
        assert_eq!(environment[name], secret, "{name}");
        daemon = daemon.with_variable(name, of_the_test);
    }
    daemon.up();
    connected(&daemon);
}
