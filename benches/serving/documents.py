"""Pages of HTML as people read them: a title, links, images, and text with tags."""

import random

import proxies

# The parts of all words.
SYLLABLES = ["ba", "ne", "pi", "el", "tra", "zon", "met", "lo", "sto", "qua", "dro", "fy"]

# The number of different words.
VOCABULARY = 20_000

# The number of links and of images of a page whose caller names none.
LINKS, IMAGES = 30, 5

# The number of different documents. A URL has one by the last digits of its number.
DOCUMENTS = 1_000

# The size of a document in bytes.
SIZE = 10_000


class Writer:
    """Writes pages, the same in every run."""

    def __init__(self):
        chance = random.Random(0)
        self.vocabulary = [
            "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(VOCABULARY)
        ]

    def words(self, chance, count):
        """Some words. Few are frequent and most are rare, as in natural text."""
        ranks = (int(VOCABULARY ** chance.random()) for _ in range(count))
        return " ".join(self.vocabulary[rank] for rank in ranks)

    def page(self, number, size=SIZE, links=None, images=None, sheet="/style.css"):
        """A page of at least this size, with these links and images."""
        chance = random.Random(number)
        if links is None:
            links = [f"/p/{chance.randrange(1_000_000):07}" for _ in range(LINKS)]
        if images is None:
            images = [f"/i/{chance.randrange(1_000)}.png" for _ in range(IMAGES)]
        text = [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{self.words(chance, 5)} {number:07}</title>\n"
            f'<link rel="stylesheet" href="{sheet}"></head><body><ul>\n'
        ]
        text += [f'<li><a href="{link}">{self.words(chance, 2)}</a></li>\n' for link in links]
        text += [f'</ul><img src="{image}" alt="{self.words(chance, 2)}">\n<ul>' for image in images]
        text.append("</ul>\n")
        length = sum(map(len, text))
        while length < size:
            text.append(
                f"<p>{self.words(chance, 40)} <em>{self.words(chance, 3)}</em> &amp; caf&eacute;"
                f" {self.words(chance, 20)}.</p>\n"
            )
            length += len(text[-1])
        return ("".join(text) + "</body></html>\n").encode()


class Documents(proxies.Site):
    """An origin with different documents, from files."""

    name = "documents"
    size = SIZE

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        writer = Writer()
        self.bodies = [writer.page(number) for number in range(DOCUMENTS)]
        for number, body in enumerate(self.bodies):
            (self.files / f"{number:03}").write_bytes(body)
        self.configure(SERVER)

    def is_page(self, number, body):
        """Whether this is the body of a page."""
        return body == self.bodies[number % DOCUMENTS]


SERVER = """
    default_type text/html;
    open_file_cache max=2000;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        add_header Cache-Control "max-age=86400";
        location ~ "^/p/[0-9]*([0-9][0-9][0-9])$" {{ alias {files}/$1; }}
        location = /status {{ stub_status; }}
    }}
"""
