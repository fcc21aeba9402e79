"""What a dead plane costs, from the rows of `mrc-perf --timeline 10`."""
WINDOW_S, STEP_MS = 0.04, 10


def mean(rows, begin, end, value):
    """Of value(row) over the rows from `begin` s on and before `end`; 0 without any."""
    chosen = [value(r) for r in rows if begin <= r["t"] < end]
    return sum(chosen) / len(chosen) if chosen else 0.0


def before(rows, plane, dies):
    """Gb/s of all planes and of that one, before it dies and after the first 0.3 s."""
    return tuple(mean(rows, 0.3, dies - 0.1, value) for value in (lambda r: r["gbps"], lambda r: r["plane_gbps"][plane]))


def below_share_ms(rows, plane, dies, returns):
    """Milliseconds from the death of a plane on in which less than 0.9 of the share of the other planes moved (means of 40 ms)."""
    total, share = before(rows, plane, dies)
    steps = [dies - 0.1 + k * STEP_MS / 1000 for k in range(round((returns - dies) * 1000 / STEP_MS))]
    return STEP_MS * sum(mean(rows, t, t + WINDOW_S, lambda r: r["gbps"]) < 0.9 * (total - share) for t in steps)
