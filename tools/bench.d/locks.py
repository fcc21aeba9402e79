"""The part `locks` of tools/bench: the locks that two shards take for packets, counted in the programs of one transfer
(tools/dev/lock-count). Each shard serves a queue pair that has a thread of its own at both ends."""
import json
import os
import tempfile

import places
import programs
from contenders import free_port

SHARDS, MESSAGES, SIZE = 2, 10000, 4096  # messages of each queue pair
OFTEN = 2000  # a thread takes a lock so often for packets; what sets a transfer up takes far fewer, and lock-count knows names by then
LIBRARY = ("libmrc-lock-count.so", "tools", "dev", "lock-count")
HELPER, RUN_S = "mrc-helper", 10


def by_kind(threads):
    """Indices of the helpers, one of each shard, and of the program's own threads, each of which uses one shard."""
    helpers = [i for i, name in enumerate(threads) if name == HELPER]
    return helpers, [i for i in range(len(threads)) if i not in helpers]


def shared(counts):
    """How many locks two helpers, or two threads of the program, take for packets."""
    return sum(any(sum(taken[i] >= OFTEN for i in kind) > 1 for kind in by_kind(counts["threads"])) for taken in counts["locks"])


def count(shards):
    """{"client", "server": what lock-count has written}, or {"error": sentence}, of a transfer by two threads over so many shards."""
    perf, library = programs.program("mrc-perf"), programs.library(*LIBRARY)
    if perf is None or library is None:
        return {"error": "mrc-perf or mrc-lock-count is not built"}
    place, port = places.Loopback(), str(free_port())
    with tempfile.TemporaryDirectory(prefix="mrc-bench-") as folder:
        files = {side: os.path.join(folder, side) for side in ("server", "client")}
        env = {**programs.SOCKETS, "MRC_SHARDS": str(shards), "LD_PRELOAD": library}
        client = [perf, place.out_of_band, "--port", port, "--quiet", "--qps", str(SHARDS), "--threads", str(SHARDS), "--size", str(SIZE),
                  "--iters", str(MESSAGES), "--signal-every", "1"]
        _, _, error = programs.pair(place, [perf, "--quiet", "--port", port], client, RUN_S,
                                    {**env, "LOCK_COUNT_FILE": files["server"]}, {**env, "LOCK_COUNT_FILE": files["client"]})
        if error:
            return {"error": error}
        try:
            return {side: read(file) for side, file in files.items()}
        except (OSError, ValueError) as e:
            return {"error": f"lock-count has not written what it counted: {e}"}


def read(file):
    with open(file, encoding="utf-8") as text:
        return json.load(text)


def measure():
    """{"one", "several": locks that are shared, of both ends, with one shard and with one for each thread; "ratios"}"""
    figures = {}
    for name, shards in (("one", 1), ("several", SHARDS)):
        counted = count(shards)
        if "error" in counted:
            return counted
        if any(side["uncounted"] for side in counted.values()):
            return {"error": "lock-count has no room for all locks or threads"}
        figures[name] = sum(shared(side) for side in counted.values())
    if figures["one"] == 0:  # both threads need the lock of the only engine
        return {"error": "no lock is taken by two threads of one engine, so nothing was counted"}
    row = {"ratio": "locks that two shards take for packets", "value": figures["several"], "target": "<= 0", "met": figures["several"] == 0}
    return {**figures, "ratios": [row]}


def show(figures):
    print(f"\nlocks of both ends that two threads take for packets: {figures['one']} with one engine")
