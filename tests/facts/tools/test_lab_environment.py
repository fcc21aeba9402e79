"""Programs that are measured in a lab are configured by it, and not by the MRC_CONFIG=/dev/null of tools/bench."""
import os
import sys
import types

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/lib/lab"))

import job_preflight  # noqa: E402
import measure  # noqa: E402
import play  # noqa: E402

LAB = {"MRC_LAB": "here", "MRC_LAB_DIR": "/there", "NCCL_DEBUG": "WARN"}
FABRIC = types.SimpleNamespace(inside=lambda host: ["at", host])


class Started(Exception):
    """Ends a measurement at its first program."""


def started_with(measured):
    """The environment of the first program that `measured` starts; LAB and the settings of tools/bench surround it."""
    os.environ.update(LAB | {"MRC_CONFIG": "/dev/null", "MRC_GSO": "off"})
    seen = []

    def start(*_, **named):
        seen.append(named["env"])
        raise Started

    subprocess = sys.modules["subprocess"]
    subprocess.run = subprocess.Popen = start
    try:
        measured()
    except Started:
        return seen[0]
    raise AssertionError("nothing was started")


def ours(env):
    return {name: value for name, value in env.items() if name.startswith(("MRC_", "NCCL_"))}


def test_a_preflight():
    assert ours(started_with(lambda: job_preflight.preflight(FABRIC, ["bench", "plugin", "mrcctl"]))) == LAB


def test_the_monitors_of_a_gray_link():
    env = ours(started_with(lambda: measure.gray(FABRIC, "perf", ["mrcd", "mrcctl"], "udp")))
    assert env == LAB | {"MRC_MRCD_SOCKET": "@mrcd"}, env


def test_a_transfer():
    env = ours(started_with(lambda: play.Play(FABRIC, "perf", [], 1, datapath="raw", settings={"MRC_SHARDS": "2"})))
    assert env == LAB | {"MRC_DATAPATH": "raw", "MRC_SHARDS": "2"}, env
