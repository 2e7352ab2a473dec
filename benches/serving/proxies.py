"""The proxies that are compared, and the origin behind them, each set up as its manual advises.

None writes an access log; all keep connections open and have the same processors. nginx is used as a
reverse proxy, in origin-form and with one origin, which is the least work for it. Ours and squid are
forward proxies and get requests in absolute-form.
"""

import grp
import hashlib
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import time

import machine
from load import Wrong
from processes import Process

# How long a program may take until it accepts connections, in seconds.
STARTS_WITHIN = 60

# How long the index may take until it has read all pages, and the pause between two looks, in seconds.
READS_WITHIN = 600
LOOKS_EVERY = 0.5

# The large file, and its length in bytes.
BIG = 1 << 30
BIG_PATH = "/big/file"

# The longest word in a configuration of nginx in bytes, with some reserve.
WORD = 3000


class Server:
    """A program that listens on a loopback port."""

    name = ""
    hit = re.compile("")

    def __init__(self, home, cpus):
        self.home = pathlib.Path(home) / f"{self.name}-{machine.free_port()}"
        self.home.mkdir(mode=0o755)
        self.cpus = cpus
        self.port = machine.free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        """Starts it, and waits until it accepts connections."""
        self.process = Process(self.command(), self.cpus, self.home / "log", self.environment())
        wait_for(self.port, self.process)
        return self

    def stop(self):
        """Ends it. Its files stay."""
        if self.process:
            self.process.stop()
        self.process = None

    def remove(self):
        """Ends it and removes its files."""
        self.stop()
        machine.remove(self.home)

    def restart(self):
        """Ends it and starts it again."""
        self.stop()
        self.start()

    def forget(self):
        """Restarts it with an empty cache."""
        self.stop()
        machine.remove(self.kept)
        self.start()

    def environment(self):
        """Its environment variables."""
        return {}

    def cpu(self):
        """Its processor time so far, in seconds."""
        return self.process.cpu()

    def memory(self):
        """Its memory, in KiB."""
        return self.process.memory()

    def index_cpu(self):
        """Processor time of its index thread so far, in seconds; 0 if it has none."""
        return 0.0

    def settle(self):
        """Waits until it has finished its work in the background."""

    def prefix(self, site):
        """The prefix of the request target of a page for this proxy."""
        return f"http://{site.host}/p/"

    def target(self, site, path):
        """The request target for a path of a site."""
        return self.prefix(site).removesuffix("/p/") + path

    def get(self, site, path):
        """Requests a path of a site and returns status, fields and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", self.target(site, path), headers={"Host": site.host})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def is_hit(self, fields):
        """Whether a response came from the cache."""
        said = "; ".join(fields.get_all(self.field) or [])
        return bool(self.hit.search(said))


class Ours(Server):
    """The program of this project."""

    name = "wwwoffle"
    field, hit = "Cache-Status", re.compile(r"wwwoffle[^,]*;\s*hit")

    def __init__(self, home, cpus, binary, spool=None):
        super().__init__(home, cpus)
        self.binary = binary
        # A program that runs ours, such as valgrind, with its arguments.
        self.wrapper = []
        self.kept = spool or self.home / "spool"
        self.config = self.home / "wwwoffle.conf"
        self.config.write_text(f'[startup]\nlisten = ["127.0.0.1:{self.port}"]\n')

    def command(self):
        return [*self.wrapper, *self.verb("serve")]

    def verb(self, *arguments):
        """The command of a verb on its spool."""
        return [self.binary, "--config", self.config, "--spool", self.kept, *arguments]

    def environment(self):
        return {"HOME": str(self.home)}

    def wait_until_ready(self):
        """Waits until verbs find the daemon, which may be after its port is open."""
        deadline = time.monotonic() + STARTS_WITHIN
        command = [str(part) for part in self.verb("status")]
        while subprocess.run(command, capture_output=True, check=False).returncode:
            if time.monotonic() > deadline:
                raise Wrong(f"the daemon does not answer `status` within {STARTS_WITHIN} s")
            time.sleep(0.1)

    def index_cpu(self):
        return self.process.thread_cpu("index")

    def api(self, path):
        """The answer of a call of the API, or None if its status is not 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return json.loads(body) if answer.status == 200 else None

    def settle(self):
        """Waits until the index has read every page."""
        deadline, complete = time.monotonic() + READS_WITHIN, 0
        # One look may come before the last pages are noticed.
        while complete < 2:
            found = self.api("/api/search?q=quadrofy")
            complete = complete + 1 if found and not found["incomplete"] else 0
            if time.monotonic() > deadline:
                raise Wrong(f"the index was not complete after {READS_WITHIN} s")
            time.sleep(LOOKS_EVERY)


class Nginx(Server):
    """nginx with `proxy_cache`."""

    name = "nginx"
    field, hit = "X-Cache", re.compile("HIT")

    def __init__(self, home, cpus, origin):
        super().__init__(home, cpus)
        self.kept = self.home / "cache"
        self.config = self.home / "nginx.conf"
        values = {"home": self.home, "kept": self.kept, "port": self.port, "origin": origin.host}
        self.config.write_text(nginx_text(self.home, len(cpus), CACHE.format(**values)))

    def command(self):
        return [machine.find("nginx"), "-p", self.home, "-c", self.config, "-e", self.home / "log"]

    def prefix(self, site):
        return "/p/"


class Squid(Server):
    """squid, with small responses in memory and large ones in files."""

    name = "squid"
    field, hit = "X-Cache", re.compile("^HIT")

    def __init__(self, home, cpus, on_disk=False):
        super().__init__(home, cpus)
        self.on_disk = on_disk
        # Several workers need a directory for their sockets that only root can create, and cannot share
        # a cache with one file for each page.
        workers = len(cpus) if os.geteuid() == 0 and not on_disk else 1
        self.config = self.home / "squid.conf"
        user, group = account()
        cache = f"cache_dir aufs {self.home}/cache 100000 16 256" if on_disk else ""
        values = {"home": self.home, "port": self.port, "workers": workers, "cache": cache}
        self.config.write_text(SQUID.format(user=user, group=group, **values))
        if os.geteuid() == 0:
            shutil.chown(self.home, user, group)
        self.arguments = ["-f", self.config, "-n", f"bench{self.port}"]
        self.arguments += ["-N"] if workers == 1 else ["--foreground"]

    def command(self):
        return [machine.find("squid"), *self.arguments]

    def start(self):
        if self.on_disk:
            self.make_cache()
        return super().start()

    def make_cache(self):
        """Creates the directories of its cache."""
        Process([*self.command(), "-z"], self.cpus, self.home / "log").child.wait(STARTS_WITHIN)


class Floor(Server):
    """The program `floor`: the least that a proxy with hyper and a file for each page does."""

    name = "hyper and a file"
    # It has no hits, so none of its responses says so.
    field = "X-Cache"

    def __init__(self, home, cpus, binary, origin):
        super().__init__(home, cpus)
        self.binary, self.origin = binary, origin

    def command(self):
        return [self.binary, self.port, self.origin.host, self.home / "pages"]


class Site(Server):
    """nginx as an origin, which counts its requests."""

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        self.looks = 0
        self.files = self.home / "files"
        self.files.mkdir()
        self.config = self.home / "nginx.conf"

    def configure(self, text, **values):
        """Writes the configuration: `text` is the server, with these values and its own."""
        values = {"port": self.port, "files": self.files, **values}
        self.config.write_text(nginx_text(self.home, len(self.cpus), text.format(**values)))

    def command(self):
        return [machine.find("nginx"), "-p", self.home, "-c", self.config, "-e", self.home / "log"]

    def on_host(self, number):
        """The site of a page: this one has all pages."""
        return self

    def requests(self):
        """The number of requests so far, without those of this method."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/status")
        told = connection.getresponse().read().decode()
        connection.close()
        self.looks += 1
        return int(told.splitlines()[2].split()[2]) - self.looks


class Origin(Site):
    """An origin with a page at each `/p/NUMBER`, and with a large file."""

    name = "origin"

    def __init__(self, home, cpus, size):
        super().__init__(home, cpus)
        self.size = size
        lines = "".join(f" line {number:06}\n" for number in range(size // 13 + 1))
        # The body of a page after its path.
        self.text = lines[: size - len("/p/0000000")]
        (self.files / "big").mkdir()
        self.configure(ORIGIN, **self.words())

    def words(self):
        """The body of a page without its path, in words that nginx can parse."""
        pieces = [self.text[at : at + WORD] for at in range(0, len(self.text), WORD)]
        sets = "".join(f'set $w{n} "{piece}";\n' for n, piece in enumerate(pieces))
        return {"sets": sets, "body": "$uri" + "".join(f"${{w{n}}}" for n in range(len(pieces)))}

    def is_page(self, number, body):
        """Whether this is the body of a page."""
        return body == (f"/p/{number:07}" + self.text).encode()

    def make_big(self):
        """Writes the large file and returns its digest."""
        path = self.files / BIG_PATH.strip("/")
        digest, block = hashlib.sha256(), bytearray(os.urandom(1 << 20))
        with open(path, "wb") as file:
            for number in range(BIG >> 20):
                block[:8] = number.to_bytes(8, "big")
                digest.update(block)
                file.write(block)
        return digest.hexdigest()


def account():
    """User and group of squid: its own user if there is one."""
    for name in ("proxy", "squid", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return name, grp.getgrgid(user.pw_gid).gr_name
    return "root", "root"


def wait_for(port, process):
    """Waits until the port accepts connections."""
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        if not process.is_running():
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.005)
    said = pathlib.Path(process.log).read_text()[-2000:]
    raise Wrong(f"{process.child.args} does not listen: {said}")


def nginx_text(home, workers, http):
    """A configuration of nginx with this in its `http` block."""
    user = "user root;" if os.geteuid() == 0 else ""
    return NGINX.format(home=home, workers=workers, http=http, user=user)


NGINX = """
{user}
daemon off;
worker_processes {workers};
worker_rlimit_nofile 20000;
pid {home}/pid;
error_log {home}/log warn;
events {{ worker_connections 12000; multi_accept on; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    client_body_temp_path {home}/body;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    {http}
}}
"""

# `open_file_cache` only works for static files. `proxy_cache` opens its file for each hit.
CACHE = """
    proxy_temp_path {home}/temp;
    proxy_cache_path {kept} levels=1:2 keys_zone=pages:256m max_size=40g inactive=1d
                     use_temp_path=off;
    upstream origin {{ server {origin}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_cache pages;
            proxy_cache_key $request_uri;
            proxy_max_temp_file_size 2048m;
            add_header X-Cache $upstream_cache_status;
        }}
    }}
"""

ORIGIN = """
    proxy_temp_path temp;
    default_type text/html;
    open_file_cache max=100;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        add_header Cache-Control "max-age=86400";
        location /p/ {{
            add_header Cache-Control "max-age=86400";
            add_header Last-Modified "Sun, 01 Nov 2026 10:00:00 GMT";
            add_header ETag '"1"';
            {sets}
            return 200 "{body}";
        }}
        location /big/ {{ root {files}; default_type application/octet-stream; }}
        location = /status {{ stub_status; }}
    }}
"""

SQUID = """
http_port 127.0.0.1:{port}
workers {workers}
cache_effective_user {user}
cache_effective_group {group}
pid_filename {home}/pid
access_log none
cache_store_log none
cache_log {home}/log
coredump_dir {home}
netdb_filename none
pinger_enable off
http_access allow all
cache_mem 512 MB
maximum_object_size_in_memory 1 MB
maximum_object_size 2 GB
{cache}
memory_replacement_policy heap GDSF
client_persistent_connections on
server_persistent_connections on
half_closed_clients off
max_filedescriptors 16000
shutdown_lifetime 1 second
visible_hostname bench
"""
