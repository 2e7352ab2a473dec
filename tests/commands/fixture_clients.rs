//! Programs that people test with, recorded once and then replayed in a network namespace without a
//! way out.

use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::fixtures::Studio;
use crate::harness::daemon::{Ran, run};
use crate::harness::tools::{need_root, program, python_with};
use crate::harness::{Answer, Origin, cannot_run, heavy};

/// Runs `wwwoffle run` in a namespace whose only interface is its own loopback.
fn without_a_way_out(studio: &Studio, arguments: &[&str]) -> Ran {
    let inner = studio.command(arguments);
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(studio.place.home());
    run(command, None)
}

/// A site whose program is recorded, and replayed without a network.
struct Replayed {
    studio: Studio,
    url: String,
}

impl Replayed {
    fn set() -> Self {
        need_root();
        if !Command::new("unshare").args(["--net", "true"]).status().is_ok_and(|s| s.success()) {
            cannot_run("a network namespace cannot be created");
        }
        let studio = Studio::set();
        let url = studio.site.url("");
        let site = &studio.site.origin;
        site.say("/page", Answer::html("<p>page").field("X-Test", "one"));
        site.say("/list?page=1", Answer::new(200, "application/json", r#"{"items":[1,2]}"#));
        site.on("/api", |exchange| {
            let text = format!("{{\"got\":{}}}", String::from_utf8_lossy(exchange.body()?));
            exchange.answer(&Answer::new(201, "application/json", text))
        });
        Self { studio, url }
    }

    /// Records a program, and compares its output with that of two replays. Returns the output.
    fn check(&self, program: &[&str]) -> String {
        let recorded = self.studio.run(&options_and(&["--record", "site.wacz"], program));
        assert_eq!(recorded.status, 0, "{recorded:?}");
        let before = self.studio.site.origin.seen().len();
        assert!(before > 0, "{recorded:?}");
        for _ in 0..2 {
            let again = self.replay(program);
            assert_eq!((again.status, &again.out), (0, &recorded.out), "{again:?}");
        }
        assert_eq!(self.studio.site.origin.seen().len(), before, "a replay asks no origin");
        recorded.out
    }

    /// Replays a program with a request for the second page, which is not recorded.
    fn fails_with_a_new_request(&self, program: &[&str]) {
        let missing = self.replay(program);
        assert_ne!(missing.status, 0, "{missing:?}");
        let told = format!("no recorded response: GET {}/list?page=2", self.url);
        assert!(missing.err.contains(&told), "{missing:?}");
        assert!(missing.err.contains(r#"argument "page" is "2", recorded "1""#), "{missing:?}");
    }

    fn replay(&self, program: &[&str]) -> Ran {
        let line = options_and(&["--replay", "site.wacz", "--fail-missing"], program);
        without_a_way_out(&self.studio, &line)
    }
}

/// The arguments of `wwwoffle run` with a program.
fn options_and<'a>(options: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
    [options, &["--"], program].concat()
}

/// Checks a program whose text has `URL` for the site and `PAGE` for the number of a page.
fn check_with_pages(program: &[&str]) {
    let replayed = Replayed::set();
    let text = |page: &str| -> Vec<String> {
        let word = |word: &&str| word.replace("URL", &replayed.url).replace("PAGE", page);
        program.iter().map(word).collect()
    };
    let (one, two) = (text("1"), text("2"));
    let out = replayed.check(&one.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(out.contains("201") && out.contains("got"), "{out}");
    replayed.fails_with_a_new_request(&two.iter().map(String::as_str).collect::<Vec<_>>());
}

const CURL: &str = "curl -sS URL/page && curl -sS 'URL/list?page=PAGE' && \
    curl -sS -w '%{http_code}' -H 'Content-Type: application/json' -d '{\"a\":1}' URL/api";

#[test]
#[ignore = "needs root, unshare, ip and curl"]
fn curl_is_replayed_without_a_network() {
    let _curl = program(&["curl"]);
    check_with_pages(&["sh", "-c", CURL]);
}

/// A shell command that runs a test runner, and prints its output without its times.
fn without_times(runner: &str) -> String {
    format!(
        "{runner} >out.txt; status=$?; \
         sed -E 's/[0-9.]+ ?(m?s|seconds)\\b//g; s/duration_ms.*//' out.txt; exit $status"
    )
}

/// Checks a test in a file, whose text has `URL` for the site and `PAGE` for the number of a page.
/// It fails when it asks for a page that is not recorded.
fn check_test(file: &str, text: &str, runner: &str) {
    let replayed = Replayed::set();
    let write = |page: &str| {
        let text = text.replace("URL", &replayed.url).replace("PAGE", page);
        std::fs::write(replayed.studio.place.home().join(file), text).unwrap();
    };
    let command = without_times(runner);
    write("1");
    let out = replayed.check(&["sh", "-c", &command]);
    assert!(out.contains("201") && out.contains("got"), "{out}");
    write("2");
    replayed.fails_with_a_new_request(&["sh", "-c", &command]);
}

const PYTEST: &str = "import httpx, pytest, requests\n\
    @pytest.mark.parametrize('client', [requests.Session, httpx.Client])\n\
    def test_site(client):\n\
    \x20   s = client()\n\
    \x20   r = s.get('URL/page')\n\
    \x20   print(r.status_code, sorted(r.headers.items()), r.text)\n\
    \x20   assert r.headers['X-Test'] == 'one'\n\
    \x20   assert s.get('URL/list?page=PAGE').json() == {'items': [1, 2]}\n\
    \x20   r = s.post('URL/api', json={'a': 1})\n\
    \x20   print(r.status_code, r.json())\n\
    \x20   assert r.json() == {'got': {'a': 1}}\n";

#[test]
#[ignore = "needs root, unshare, ip and python3 with pytest, requests and httpx"]
fn a_pytest_is_replayed_without_a_network() {
    for package in ["pytest", "requests", "httpx"] {
        python_with(package);
    }
    check_test("test_site.py", PYTEST, "python3 -m pytest -q -s -p no:cacheprovider test_site.py");
}

/// `fetch` of Node reads the variables of the proxy since version 22.21. For older ones, the
/// package undici does.
const FETCH: &str = "const {EnvHttpProxyAgent, setGlobalDispatcher} = \
    require(process.env.UI_TEST_MODULES + '/undici');\n\
    const test = require('node:test'), assert = require('node:assert');\n\
    setGlobalDispatcher(new EnvHttpProxyAgent());\n\
    test('the site', async () => {\n\
    let r = await fetch('URL/page'); console.log(r.status, [...r.headers], await r.text());\n\
    assert.deepEqual(await (await fetch('URL/list?page=PAGE')).json(), {items: [1, 2]});\n\
    r = await fetch('URL/api', {method: 'POST', body: JSON.stringify({a: 1})});\n\
    console.log(r.status, await r.json());\n\
    r = await fetch('PLAIN/page'); console.log(await r.text());\n\
    })";

#[test]
#[ignore = "needs root, unshare, ip and node with undici"]
fn a_node_test_with_fetch_is_replayed_without_a_network() {
    let _node = program(&["node"]);
    // This client opens a tunnel for `http:` too.
    let plain = Origin::start();
    plain.say("/page", Answer::html("<p>plain"));
    let text = FETCH.replace("PLAIN", &plain.url(""));
    check_test("site.test.js", &text, "node --test --test-reporter=tap site.test.js");
}

/// A page with a style sheet and a script that sends a POST, in Chromium.
const PLAYWRIGHT: &str = "const {test, expect} = \
    require(process.env.UI_TEST_MODULES + '/@playwright/test');\n\
    test.use({ignoreHTTPSErrors: true,\n\
    proxy: {server: process.env.https_proxy, bypass: '<-loopback>'},\n\
    launchOptions: {executablePath: 'CHROMIUM', args: ['--no-sandbox', '--disable-gpu']}});\n\
    test('the page', async ({page}) => {\n\
    await page.goto('URL/app');\n\
    await expect(page.locator('#done')).toHaveText('201{\"got\":{\"a\":1}}');\n\
    await expect(page.locator('body')).toHaveCSS('color', 'rgb(1, 2, 3)');\n\
    console.log(await page.content());\n\
    })";

#[test]
#[ignore = "needs root, unshare, ip, chromium and node with @playwright/test"]
fn a_playwright_test_is_replayed_without_a_network() {
    let chromium = crate::site::browser::browser();
    let _alone = heavy();
    let replayed = Replayed::set();
    let site = &replayed.studio.site.origin;
    site.say("/app", Answer::html(
        "<link rel=icon href=data:,><link rel=stylesheet href=/app.css><script src=/app.js defer></script>",
    ));
    site.say("/app.css", Answer::new(200, "text/css", "body { color: rgb(1, 2, 3) }"));
    site.say(
        "/app.js",
        Answer::new(
            200,
            "text/javascript",
            "(async () => {\
        const r = await fetch('/api', {method: 'POST', body: JSON.stringify({a: 1})});\
        const p = document.createElement('p'); p.id = 'done';\
        p.textContent = r.status + await r.text(); document.body.append(p); })()",
        ),
    );
    let spec = PLAYWRIGHT.replace("URL", &replayed.url);
    let spec = spec.replace("CHROMIUM", chromium.to_str().unwrap());
    std::fs::write(replayed.studio.place.home().join("app.spec.js"), spec).unwrap();
    let runner = "node $UI_TEST_MODULES/@playwright/test/cli.js test --reporter=line app.spec.js";
    let out = replayed.check(&["sh", "-c", &without_times(runner)]);
    assert!(out.contains("1 passed") && out.contains("201{"), "{out}");
}

/// Makes a wheel and a package of npm. Prints them in base64, one a line.
const PACKAGES: &str = "import base64, io, json, tarfile, zipfile\n\
    def show(b): print(base64.b64encode(b.getvalue()).decode())\n\
    b = io.BytesIO(); z = zipfile.ZipFile(b, 'w')\n\
    z.writestr('demo.py', 'x = 1')\n\
    d = 'demo-1.0.dist-info/'\n\
    z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n')\n\
    z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
    z.writestr(d + 'RECORD', ''); z.close(); show(b)\n\
    b = io.BytesIO(); t = tarfile.open(fileobj=b, mode='w:gz')\n\
    p = json.dumps({'name': 'demo', 'version': '1.0.0'}).encode()\n\
    i = tarfile.TarInfo('package/package.json'); i.size = len(p)\n\
    t.addfile(i, io.BytesIO(p)); t.close(); show(b)\n";

#[test]
#[ignore = "needs root, unshare, ip, pip and npm"]
fn pip_and_npm_are_replayed_without_a_network() {
    let _tools = [program(&["pip", "pip3"]), program(&["npm"])];
    let made = crate::harness::tools::tool("python3", &["-c", PACKAGES], "");
    let files: Vec<Vec<u8>> =
        made.out.lines().map(|line| BASE64_STANDARD.decode(line).unwrap()).collect();
    let replayed = Replayed::set();
    let (site, url) = (&replayed.studio.site.origin, &replayed.url);
    let wheel = "demo-1.0-py3-none-any.whl";
    let index = format!("<a href=\"{url}/{wheel}\">{wheel}</a>");
    site.say("/simple/demo/", Answer::html(index));
    site.say(&format!("/{wheel}"), Answer::new(200, "application/zip", files[0].clone()));
    // npm cannot connect to an address through a proxy.
    let local = replayed.studio.site.url_at("localhost", "");
    let about = format!(
        "{{\"name\":\"demo\",\"dist-tags\":{{\"latest\":\"1.0.0\"}},\"versions\":{{\"1.0.0\":\
         {{\"name\":\"demo\",\"version\":\"1.0.0\",\"dist\":{{\"tarball\":\"{local}/demo.tgz\"}}}}}}}}"
    );
    site.say("/demo", Answer::new(200, "application/json", about));
    site.say("/demo.tgz", Answer::new(200, "application/gzip", files[1].clone()));
    let pip = format!(
        "rm -rf got && pip download -q --disable-pip-version-check --no-cache-dir --no-deps -d got \
         --index-url {url}/simple/ demo && sha256sum got/*"
    );
    assert!(replayed.check(&["sh", "-c", &pip]).contains(wheel));
    std::fs::remove_file(replayed.studio.file()).unwrap();
    let npm = format!(
        "rm -rf node_modules package* .npm && npm install --loglevel error --no-audit --no-fund \
         --registry {local}/ demo >&2 && cat node_modules/demo/package.json"
    );
    assert!(replayed.check(&["sh", "-c", &npm]).contains("1.0.0"));
}

/// A repository for `git`, and a crate for `cargo`: their files as `PATH<tab>BASE64` lines.
const SOURCES: &str = r#"
import base64, hashlib, io, json, os, pathlib, subprocess, tarfile, tempfile
def show(path, data): print(path, base64.b64encode(data).decode(), sep='\t')
with tempfile.TemporaryDirectory() as room:
    git = lambda *words: subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words], cwd=room, check=True, stdout=subprocess.DEVNULL)
    git('init', '-q', '-b', 'main', '.')
    pathlib.Path(room, 'file').write_text('text of the file\n')
    git('add', 'file')
    git('commit', '-q', '-m', 'Add a file')
    git('update-server-info')
    root = pathlib.Path(room, '.git')
    for path in sorted(path for path in root.rglob('*') if path.is_file()):
        show('/repo.git/' + str(path.relative_to(root)), path.read_bytes())
package = io.BytesIO()
with tarfile.open(fileobj=package, mode='w:gz') as archive:
    for name, text in [('Cargo.toml', '[package]\nname = "demo"\nversion = "1.0.0"\nedition = "2021"\n'), ('src/lib.rs', '// demo\n')]:
        about = tarfile.TarInfo('demo-1.0.0/' + name)
        about.size = len(text)
        archive.addfile(about, io.BytesIO(text.encode()))
show('/crates/demo/1.0.0/download', package.getvalue())
line = {'name': 'demo', 'vers': '1.0.0', 'deps': [], 'features': {}, 'yanked': False, 'cksum': hashlib.sha256(package.getvalue()).hexdigest()}
show('/index/de/mo/demo', json.dumps(line).encode())
"#;

#[test]
#[ignore = "needs root, unshare, ip, python3, git and cargo"]
fn git_and_cargo_are_replayed_without_a_network() {
    let _git = program(&["git"]);
    let made = crate::harness::tools::tool("python3", &["-c", SOURCES], "");
    let replayed = Replayed::set();
    let (site, url) = (&replayed.studio.site.origin, &replayed.url);
    site.on("*", |exchange| exchange.answer(&Answer::new(404, "text/plain", "missing")));
    for line in made.out.lines() {
        let (path, content) = line.split_once('\t').unwrap();
        let content = BASE64_STANDARD.decode(content).unwrap();
        site.say(path, Answer::new(200, "application/octet-stream", content.clone()));
        if path.ends_with("/info/refs") {
            let asked = format!("{path}?service=git-upload-pack");
            site.say(&asked, Answer::new(200, "text/plain", content));
        }
    }
    site.say(
        "/index/config.json",
        Answer::new(200, "application/json", format!("{{\"dl\":\"{url}/crates\"}}")),
    );
    let git = format!(
        "rm -rf got && git clone -q {url}/repo.git got && cat got/file && git -C got log --format=%s"
    );
    let out = replayed.check(&["sh", "-c", &git]);
    assert_eq!(out, "text of the file\nAdd a file\n");
    std::fs::remove_file(replayed.studio.file()).unwrap();
    // The tools themselves: those of rustup look for their toolchain in the real home.
    let cargo = std::path::Path::new(env!("CARGO"));
    let (cargo, rustc) = (cargo.display(), cargo.with_file_name("rustc"));
    let fetch = format!(
        "rm -rf home project && mkdir -p project/src && cd project && touch src/lib.rs && \
         printf '[package]\\nname = \"user\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n[dependencies]\\n\
         demo = {{ version = \"1\", registry-index = \"sparse+{url}/index/\" }}\\n' > Cargo.toml && \
         CARGO_HOME=../home RUSTC={} {cargo} fetch -q >&2 && cat ../home/registry/src/*/demo-1.0.0/src/lib.rs",
        rustc.display()
    );
    assert_eq!(replayed.check(&["sh", "-c", &fetch]), "// demo\n");
}
