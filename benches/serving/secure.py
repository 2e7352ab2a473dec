"""The row of hits inside intercepted connections, measured by `benches/https.rs`, since wrk does not
support HTTPS through a proxy."""

import machine
from load import Wrong
from report import Row

COLUMNS = {
    "per_second": ("requests/s", 1, 0),
    "cpu": ("processor each, µs", 1, 1),
}

PLAIN, INSIDE = "plain hits, 10 KiB", "intercepted hits, 10 KiB"


def hits(bench):
    """Intercepted hits on persistent connections, compared with plain ones of the same clients."""
    command = ["cargo", "bench", "--manifest-path", bench.root / "Cargo.toml", "--bench", "https"]
    table = machine.run([*command, "--", bench.seconds])
    figures = {name: [figures_of(table, name)] for name in (PLAIN, INSIDE)}
    row = Row("https, from this source tree, 8 connections", figures, COLUMNS, base=PLAIN)
    row.wants("per_second", 0.7, INSIDE, at_least=True, of=PLAIN)
    return row


def figures_of(table, name):
    """The figures in one line of the benchmark's table."""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[1:2] == [name]:
            return {"per_second": float(cells[2]), "cpu": float(cells[4].split()[0])}
    raise Wrong(f"benches/https.rs has no line {name!r}")
