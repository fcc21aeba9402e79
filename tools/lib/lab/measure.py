"""Measures how a transfer answers to faults of the fabric: run by `mrc-fabric run FABRIC -- python3 measure.py ...`, prints
one JSON object. Each fault gets a transfer of its own, in turn over plain sockets and over frames of our own. With mrcd and
mrcctl the fault `gray` is measured as well: a link that loses 5 %, found and denied by the monitors of both hosts.

usage: measure.py MRC_FABRIC MRC_PERF [--rounds N] [--only NAME,NAME] [--datapaths udp,raw] [--mrcd MRCD --mrcctl MRCCTL]
"""
import argparse
import json
import statistics
import sys
import tempfile
import time

import judge
from fabric import Fabric, environment
from play import START_S, Break, Play
from watch import Watch, settings

DOWN_AT, UP_AT, SECONDS = 1.5, 3.0, 5.5
# Name, words of the fault, remaining throughput; a fabric of two planes with two T1s each.
FAULTS = {
    "t1": ("one of two T1s of a plane", ("switch", "p0-t1-0"), 1.0),
    "t0": ("the sender's T0 of a plane", ("switch", "p1-t0-0"), 0.5),
    "far_t0": ("the receiver's T0 of a plane", ("switch", "p1-t0-1"), 0.5),
    "port": ("a port of the sender", ("port", "h0:p0"), 0.5),
    "far_port": ("a port of the receiver", ("port", "h7:p0"), 0.5),
    "link": ("a link between T0 and T1", ("link", "p0-t0-0:t1-1"), 1.0),
}


def spray(fabric, perf, datapath):
    """Largest difference between the ports of all T1s in the bytes that one queue pair sends over them while both sides
    write as much, as part of the mean."""

    def sent():
        return {link["upper"]: link["down"]["tx_bytes"] for link in fabric.status()["links"] if "-t1-" in link["upper"]}

    before = sent()
    Play(fabric, perf, [], None, datapath=datapath, more=["--iters", "2400", "--bidirectional"]).run()
    ports = {port: count - before[port] for port, count in sent().items()}
    return {"ports": ports, "spread": (max(ports.values()) - min(ports.values())) / statistics.mean(ports.values())}


GRAY = ("p0-t0-0:t1-0", "5%")
GRAY_SOURCE, GRAY_TARGET = "h0", "h7"
STRETCH_S = 2.0


def gray(fabric, perf, programs, datapath):
    """Seconds until the monitor's deny is in force and until it is lifted after the repair; Gb/s before, while no one has
    found the link, and beside it. With one plane's T1 denied the other carries what the hosts can send."""
    play = None
    with tempfile.TemporaryDirectory(prefix="mrc-gray-") as folder, \
            Watch(fabric.inside, *programs, folder, (GRAY_SOURCE, GRAY_TARGET), environment()) as watch:
        try:
            play = Play(fabric, perf, [], 120, GRAY_SOURCE, GRAY_TARGET, datapath, settings=settings())
            stream = play.stream
            stream.wait_for_data(START_S)
            time.sleep(2 * STRETCH_S)
            broken = time.monotonic()
            fabric.fault("loss", *GRAY)
            watch.until(lambda: watch.denies(GRAY_SOURCE), "the gray link is not denied")
            denied = time.monotonic()
            time.sleep(2 * STRETCH_S)
            mended = time.monotonic()
            fabric.fault("clear")
            watch.until(lambda: not watch.denies(GRAY_SOURCE), "the deny is not lifted")
            before = judge.level(stream.rows, broken - STRETCH_S, broken)
            after = judge.level(stream.rows, mended - STRETCH_S, mended)
            return {
                "found_s": denied - broken,
                "lifted_s": time.monotonic() - mended,
                "before_gbps": before,
                "gray_gbps": judge.level(stream.rows, broken, denied),
                "after_gbps": after,
                "goodput": after / before,
            }
        finally:
            if play is not None:
                play.stream.kill()


def medians(rounds):
    """By key; a None, which means "never", is greater than every number and stays None when it is the median."""
    result = {}
    for key in rounds[0]:
        values = sorted((r[key] for r in rounds), key=lambda v: float("inf") if v is None else v)
        result[key] = values[len(values) // 2]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fabric")
    parser.add_argument("perf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(FAULTS))
    parser.add_argument("--datapaths", default="udp,raw")
    parser.add_argument("--mrcd")
    parser.add_argument("--mrcctl")
    options = parser.parse_args()
    fabric = Fabric(options.fabric)
    result = {}
    for datapath in options.datapaths.split(","):
        result[datapath] = {"spray": spray(fabric, options.perf, datapath)}
        for name in options.only.split(","):
            title, words, left = FAULTS[name]
            rounds = []
            for _ in range(options.rounds):
                one = Break(title, words, DOWN_AT, UP_AT, left)
                rounds.append(Play(fabric, options.perf, [one], SECONDS, datapath=datapath).run().figures(one))
                print(f"{datapath} {name}: {json.dumps(rounds[-1])}", file=sys.stderr, flush=True)
            result[datapath][name] = {"fault": title, "median": medians(rounds), "rounds": rounds}
        if options.mrcd and options.mrcctl:
            rounds = [gray(fabric, options.perf, (options.mrcd, options.mrcctl), datapath) for _ in range(options.rounds)]
            print(f"{datapath} gray: {json.dumps(rounds)}", file=sys.stderr, flush=True)
            result[datapath]["gray"] = {"fault": "5 % lost between T0 and T1, monitors on", "median": medians(rounds), "rounds": rounds}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
