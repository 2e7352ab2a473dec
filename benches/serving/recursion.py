"""The row of a recursive fetch: a generated site, beside wget."""

import functools
import http.client
import random

import documents
import hits
import machine
import processes
import proxies
from load import Wrong
from report import Row

# The number of pages. More than 5,000 that differ only in numbers count as a trap.
PAGES, FEW_PAGES = 2_000, 200

# The links of a page to pages that only it leads to, and to others.
CHILDREN, OTHERS = 8, 12

# The number of style sheets. Each imports the common one and has an image of its own.
SHEETS = 20

# The size of an image in bytes, and the number of pages in a directory.
IMAGE, DIRECTORY = 3_000, 100

# More links deep than the site is.
DEPTH = 20

COLUMNS = {
    "pages": ("pages/s", 1, 0),
    "files": ("files/s", 1, 0),
    "cpu": ("processor a page, µs", 1, 0),
}


class Tree(proxies.Site):
    """A site of files: pages that link to each other, each with images and a style sheet."""

    name = "site"

    def __init__(self, home, cpus, count):
        super().__init__(home, cpus)
        self.count = count
        # The bodies by path, without the rules for robots, which are no part of the site.
        self.paths = {}
        self.write_all()
        self.configure(SERVER)
        self.url = f"http://{self.host}/"

    def write_all(self):
        """Writes every file."""
        writer = documents.Writer()
        (self.files / "robots.txt").write_text("User-agent: *\nDisallow:\n")
        self.add("/logo.png", image(-1))
        self.add("/styles/common.css", b"body { background: url(../images/common.png) }\n")
        self.add("/images/common.png", image(-2))
        for number in range(SHEETS):
            sheet = f"@import url(common.css);\nem {{ background: url(../images/sheet{number}.png) }}\n"
            self.add(f"/styles/{number}.css", sheet.encode())
            self.add(f"/images/sheet{number}.png", image(-3 - number))
        for number in range(self.count):
            self.add(self.path_of(number), self.page(writer, number))
            self.add(f"/images/{number}.png", image(number))

    def page(self, writer, number):
        """The body of a page."""
        chance = random.Random(number)
        children = range(number * CHILDREN + 1, number * CHILDREN + CHILDREN + 1)
        links = [self.path_of(child) for child in children if child < self.count]
        links += [self.path_of(chance.randrange(self.count)) for _ in range(OTHERS)]
        parts = [f"/images/{number}.png", "/logo.png"]
        sheet = f"/styles/{number % SHEETS}.css"
        return writer.page(number, links=links, images=parts, sheet=sheet)

    def path_of(self, number):
        """The path of a page. The first one leads to all."""
        return f"/d{number // DIRECTORY}/{number}.html" if number else "/index.html"

    def add(self, path, body):
        """Writes a file."""
        file = self.files / path.strip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        self.paths[path] = body


def image(number):
    """The bytes of an image, which nothing decodes."""
    return b"\x89PNG\r\n\x1a\n" + random.Random(number).randbytes(IMAGE)


def fetch(bench):
    """A recursive fetch of a site with all parts, by ours and by wget."""
    count = FEW_PAGES if bench.quick else PAGES
    site = bench.start(Tree(bench.home, bench.cpus.load, count))
    ours = bench.ours()
    subjects = {
        "wwwoffle": functools.partial(by_ours, bench, ours, site),
        "wget": functools.partial(by_wget, bench, site),
    }
    figures = hits.in_turn(bench, subjects)
    row = Row(f"recursive fetch of {count:,} pages of 10 kB with their parts", figures, COLUMNS, base="wget")
    row.wants("pages", 3.0, at_least=True, of="wget")
    return row


def by_ours(bench, ours, site):
    """Fetches the site into a new spool."""
    ours.forget()
    ours.wait_until_ready()
    used = ours.cpu()
    command = ours.verb("get", "--recursive", DEPTH, f"{site.url}index.html")
    _, took, of_command = processes.timed(command, bench.cpus.proxy)
    used = ours.cpu() - used + of_command
    check_stored(ours, site)
    return figures_of(site, took, used)


def by_wget(bench, site):
    """Fetches the site into a new directory."""
    target = bench.home / "fetched"
    command = [machine.find("wget"), "-q", "-r", "-l", "inf", "-p", "-nH", "-P", target]
    command += [f"{site.url}index.html"]
    _, took, used = processes.timed(command, bench.cpus.proxy)
    for path, body in site.paths.items():
        file = target / path.strip("/")
        if not file.exists() or file.read_bytes() != body:
            raise Wrong(f"wget did not store {path}")
    machine.remove(target)
    return figures_of(site, took, used)


def figures_of(site, took, used):
    """The figures of one fetch."""
    return {
        "pages": site.count / took,
        "files": len(site.paths) / took,
        "cpu": used / site.count * 1e6,
    }


def check_stored(ours, site):
    """Reads every file of the site from the spool."""
    connection = http.client.HTTPConnection("127.0.0.1", ours.port, timeout=120)
    for path, body in site.paths.items():
        connection.request("GET", ours.target(site, path), headers={"Host": site.host})
        answer = connection.getresponse()
        is_same = answer.read() == body
        if answer.status != 200 or not is_same or not ours.is_hit(answer.headers):
            raise Wrong(f"wwwoffle did not store {path}: {answer.status}, {answer.headers.items()}")
    connection.close()


SERVER = """
    types {{ text/html html; text/css css; image/png png; text/plain txt; }}
    open_file_cache max=10000;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {files};
        add_header Cache-Control "max-age=86400";
        location = /status {{ stub_status; }}
    }}
"""
