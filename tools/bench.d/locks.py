"""The part `locks` of tools/bench: the locks that two shards take for packets, counted in the programs of one transfer
(tools/dev/lock-count). Each shard serves a queue pair that has a thread of its own at both ends."""
import json
import os
import tempfile

import places
import programs
from contenders import free_port

SHARDS, SIZE = 2, 4096
OFTEN = 2000  # a thread takes a lock so often for packets; what sets a transfer up takes far fewer, and lock-count knows names by then
# Messages of each queue pair, one packet each. Where threads poll, a lock that is taken once for a burst of 15 shows as well. A server
# whose threads sleep leaves the work to its helpers: there each message is a round trip.
POLLING = ["--iters", str(20 * OFTEN)]
ASLEEP = ["--iters", str(20 * OFTEN), "--depth", "1", "--sleepy-server"]
BUSY = 10 * OFTEN  # the lock that so busy a thread takes most is its engine's
LIBRARY = ("libmrc-lock-count.so", "tools", "dev", "lock-count")
HELPER, RUN_S = "mrc-helper", 10


def homes_of(counts):
    """{thread: the lock of the engine that it serves}, of those that take a lock often. A thread that has little to do may take another
    lock of its engine as often."""
    taken = {i: [lock[i] for lock in counts["locks"]] for i in range(len(counts["threads"]))}
    own = {column.index(max(column)) for column in taken.values() if max(column, default=0) >= BUSY}
    return {i: max(own, key=lambda lock, column=column: column[lock]) for i, column in taken.items()
            if own and max(column, default=0) >= OFTEN}


def engines(counts):
    """How many engines the threads serve."""
    return len(set(homes_of(counts).values()))


def shared(counts):
    """How many locks are taken often by threads of two engines."""
    homes = homes_of(counts)
    return sum(len({home for i, home in homes.items() if lock[i] >= OFTEN}) > 1 for lock in counts["locks"])


def helpers(counts):
    """How many helpers serve."""
    return sum(counts["threads"][i] == HELPER for i in homes_of(counts))


def count(shards, how):
    """{"client", "server": what lock-count has written}, or {"error": sentence}, of a transfer by two threads over so many shards."""
    perf, library = programs.program("mrc-perf"), programs.library(*LIBRARY)
    if perf is None or library is None:
        return {"error": "mrc-perf or mrc-lock-count is not built"}
    place, port = places.Loopback(), str(free_port())
    with tempfile.TemporaryDirectory(prefix="mrc-bench-") as folder:
        files = {side: os.path.join(folder, side) for side in ("server", "client")}
        env = {**programs.SOCKETS, "MRC_SHARDS": str(shards), "LD_PRELOAD": library}
        client = [perf, place.out_of_band, "--port", port, "--quiet", "--qps", str(SHARDS), "--threads", str(SHARDS), "--size", str(SIZE),
                  "--signal-every", "1", *how]
        _, _, error = programs.pair(place, [perf, "--quiet", "--port", port], client, RUN_S,
                                    {**env, "LOCK_COUNT_FILE": files["server"]}, {**env, "LOCK_COUNT_FILE": files["client"]})
        if error:
            return {"error": error}
        try:
            counted = {side: read(file) for side, file in files.items()}
        except (OSError, ValueError) as e:
            return {"error": f"lock-count has not written what it counted: {e}"}
    if any(side["uncounted"] for side in counted.values()):
        return {"error": "lock-count has no room for all locks or threads"}
    return counted


def read(file):
    with open(file, encoding="utf-8") as text:
        return json.load(text)


def measure():
    """{"one": threads that share the lock of one engine at the end with the fewest; "engines": those that several threads were seen to
    serve, of the end with the fewest; "several": locks that these share, of both ends; "ratios"}, or {"error": sentence}"""
    one, polling, asleep = count(1, POLLING), count(SHARDS, POLLING), count(SHARDS, ASLEEP)
    for counted in (one, polling, asleep):
        if "error" in counted:
            return counted
    figures = {"one": min(len(homes_of(side)) if engines(side) == 1 else 0 for side in one.values()),
               "engines": min(engines(side) for side in (*polling.values(), asleep["server"])),
               "several": sum(shared(side) for counted in (polling, asleep) for side in counted.values())}
    if figures["one"] < SHARDS:  # all threads need the lock of the only engine
        return {"error": "no lock is taken by two threads of one engine, so nothing was counted"}
    if helpers(asleep["server"]) < SHARDS:
        return {"error": "the helpers of a server that sleeps took few locks, so they were not counted"}
    if figures["engines"] < SHARDS and figures["several"] == 0:  # threads of both take one lock more often than their engine's
        figures["several"] = 1
    row = {"ratio": "locks that two shards take for packets", "value": figures["several"], "target": "<= 0", "met": figures["several"] == 0}
    return {**figures, "ratios": [row]}


def show(figures):
    print(f"\nthreads that share the lock of one engine: {figures['one']}; with {SHARDS} engines {figures['several']} locks are shared")
