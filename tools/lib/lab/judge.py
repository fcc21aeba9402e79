"""The effect of a fault on a transfer, from rows of throughput (streams.py): depth, duration, recovery.

A level is the median Gb/s of a stretch. Throughput is at a level where the mean over WINDOW_S is at least SHARE of it, and
steady once it has been there for HOLD_S. Times are those of the rows.
"""
import statistics

SHARE = 0.9
WINDOW_S = 0.04  # shorter stretches show the scheduler as much as the network
HOLD_S = 0.2


def between(rows, start, end):
    return [r for r in rows if start < r.at <= end]


def level(rows, start, end):
    stretch = between(rows, start, end)
    return statistics.median(r.gbps for r in stretch) if stretch else 0.0


def smooth(rows):
    """(time, mean of the window that ends there)."""
    result = []
    first = 0
    for i, row in enumerate(rows):
        while row.at - rows[first].at >= WINDOW_S - 1e-6:
            first += 1
        window = rows[first:i + 1]
        result.append((row.at, sum(r.gbps for r in window) / len(window)))
    return result


def until_steady(rows, event, wanted, limit_s):
    """Seconds from the event to the last moment below SHARE of `wanted` that HOLD_S without any follow; 0.0 when there is
    none below. None: not steady within the limit."""
    bad = event
    for at, gbps in smooth(between(rows, event - WINDOW_S, event + limit_s + HOLD_S)):
        if at <= event:
            continue
        if gbps < SHARE * wanted:
            bad = at
        elif at - bad >= HOLD_S:
            return bad - event
    return None


def time_below(rows, start, end, wanted):
    """Seconds of a stretch during which the throughput was below SHARE of `wanted`."""
    total, last = 0.0, start
    for at, gbps in smooth(between(rows, start - WINDOW_S, end)):
        if at <= start:
            continue
        if gbps < SHARE * wanted:
            total += at - last
        last = at
    return total
