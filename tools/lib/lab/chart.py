"""A chart that grows downwards while a transfer runs: a bar per fifth of a second, its parts the planes, so that it reads the
same in a terminal, in a log and over a slow line."""
import sys

EVERY_S = 0.2
PARTS = "█▓▒░"
COLOURS = (34, 33, 32, 35)  # of the terminal, plane by plane
WIDTH = 48


class Chart:
    def __init__(self, full_gbps, out=sys.stdout):
        self.full, self.out, self.coloured = full_gbps, out, out.isatty()
        self.rows, self.begin = [], None

    def head(self, planes):
        names = "   ".join(f"{self._paint(plane, PARTS[plane % len(PARTS)] * 3)} plane {plane + 1}" for plane in range(planes))
        self._print(f"\n{'s':>6} {'Gb/s':>6}  {names}   full width: {self.full:g} Gb/s; paths good/bad\n"
                    "Paths of a plane whose port is down keep their state here, and are not used\n")

    def add(self, row):
        """A row of streams.py; called by the thread that reads them."""
        if self.begin is None:
            self.begin = row.at
            self.head(len(row.per_plane))
        self.rows.append(row)
        if row.at - self.rows[0].at < EVERY_S:
            return
        rows, self.rows = self.rows, []
        planes = [sum(r.per_plane[p] for r in rows) / len(rows) for p in range(len(row.per_plane))]
        bar, drawn, total = "", 0, 0.0
        for plane, gbps in enumerate(planes):
            total += gbps
            until = min(WIDTH, round(WIDTH * total / self.full))
            bar += self._paint(plane, PARTS[plane % len(PARTS)] * max(0, until - drawn))
            drawn = max(drawn, until)
        data = sum(r.gbps for r in rows) / len(rows)
        self._print(f"{row.at - self.begin:6.1f} {data:6.2f}  {bar}{' ' * (WIDTH - drawn)}  {row.evs['good']}/{row.evs['bad']}\n")

    def say(self, words):
        self._print((f"\033[1;31m{words}\033[0m" if self.coloured else words) + "\n")

    def _paint(self, plane, text):
        return f"\033[{COLOURS[plane % len(COLOURS)]}m{text}\033[0m" if self.coloured and text else text

    def _print(self, text):
        self.out.write(text)
        self.out.flush()
