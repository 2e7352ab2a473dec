"""The figures of the rows, as a Markdown table or as JSON."""

import dataclasses
import statistics

# A column: its heading, the divisor of its values, and the number of decimals.
LOAD = {
    "per_second": ("requests/s", 1, 0),
    "p50": ("p50, µs", 1, 0),
    "p99": ("p99, µs", 1, 0),
    "cpu": ("processor each, µs", 1, 1),
    "memory": ("memory, MiB", 1024, 1),
}
# Loads during which the index thread of wwwoffle works too. `rest` is `cpu` without it.
INDEXED = {
    "per_second": LOAD["per_second"],
    "p50": LOAD["p50"],
    "p99": LOAD["p99"],
    "cpu": LOAD["cpu"],
    "index": ("index thread each, µs", 1, 1),
    "rest": ("without it, µs", 1, 1),
}
TRANSFER = {
    "seconds": ("seconds", 1, 2),
    "cpu": ("processor, s", 1, 2),
    "added": ("added memory, MiB", 1024, 1),
}
# Columns that may be zero, so that no ratio is formed.
WITHOUT_RATIO = ("added", "index")
RESIDENT = {"rss": ("resident, MiB", 1024, 1), "memory": ("share of memory, MiB", 1024, 1)}
START = {"answered": ("first answer, s", 1, 3)}


@dataclasses.dataclass
class Target:
    """The target for a column of one subject: a ratio to `of`, or absolute if that is None."""

    name: str
    column: str
    bound: float
    at_least: bool
    of: str | None


class Row:
    """One kind of work, with the figures of each subject: a dictionary for each round."""

    def __init__(self, work, figures, columns=None, base="nginx"):
        self.work = work
        self.figures = figures
        self.columns = columns or LOAD
        self.base = base if base in figures else None
        self.targets = []

    def wants(self, column, bound, name="wwwoffle", at_least=False, of="nginx"):
        """Adds a target for the ratio to `of`, or for the figure itself."""
        self.targets.append(Target(name, column, bound, at_least, of))

    def median(self, name, column):
        """The median of a column over the rounds, in the unit of its heading."""
        _, unit, _ = self.columns[column]
        return statistics.median(each[column] for each in self.figures[name]) / unit

    def ratio(self, name, column, of):
        """The median of the ratios of each round, so that a slow round has no effect."""
        pairs = zip(self.figures[name], self.figures[of])
        return statistics.median(mine[column] / max(base[column], 1e-9) for mine, base in pairs)

    def print(self):
        """Prints a table, and whether the targets are reached."""
        titles = [title for title, _, _ in self.columns.values()]
        print(f"\n| {self.work} | {' | '.join(titles)} |\n|---|" + "--:|" * len(titles))
        for name in self.figures:
            cells = [self.cell(name, column) for column in self.columns]
            print(f"| {name} | {' | '.join(cells)} |")
        print("".join(f"\n- {line}" for line in self.verdicts()), flush=True)

    def cell(self, name, column):
        """A median, with its ratio to the base in brackets."""
        text = f"{self.median(name, column):.{self.columns[column][2]}f}"
        if self.base in (None, name) or column in WITHOUT_RATIO:
            return text
        return f"{text} ({self.ratio(name, column, self.base):.2f})"

    def verdicts(self):
        """One line for each target."""
        for target in self.targets:
            name, column, of = target.name, target.column, target.of
            found = self.ratio(name, column, of) if of else self.median(name, column)
            met = found >= target.bound if target.at_least else found <= target.bound
            wanted = f"{'≥' if target.at_least else '≤'} {target.bound}"
            told = f"{self.columns[column][0]} of {name}: {found:.2f}{f' × {of}' if of else ''}"
            yield f"{'met' if met else 'MISSED'}: {told}, wanted {wanted}"

    def as_json(self):
        """All results."""
        ratios = {
            name: {column: self.ratio(name, column, self.base) for column in self.columns}
            for name in self.figures
            if self.base
        }
        verdicts = list(self.verdicts())
        return {"work": self.work, "rounds": self.figures, "ratios": ratios, "targets": verdicts}
