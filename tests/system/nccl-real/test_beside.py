"""What measures NCCL over MRC beside NCCL's own sockets: tools/bench --parts nccl, tools/demo --nccl. Only in tools/test --long."""
import json
import os
import sys

import files
from environment import clean
from limits import limit
from process import run
from rig_suite import need_nccl
from skip import need_root

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools")


def python(script, *arguments, codes=(0,)):
    """Its standard output. It uses namespaces and MRC_CONFIG of its own."""
    need_root()
    build = os.path.abspath(os.path.join(os.path.dirname(need_nccl()), "..", "..", ".."))
    os.makedirs(files.at("out"), exist_ok=True)
    done = run([sys.executable, "-B", os.path.join(TOOLS, script), *(argument.format(build=build) for argument in arguments)],
               clean({"MRC_CONFIG": "/dev/null"}, ("NCCL_", "MRC_")), code=None, limit_s=limit(600), cwd=files.at())
    print(done.stdout, done.stderr)
    assert done.returncode in codes, done.returncode
    return done.stdout


def test_bench_measures_every_transport():
    """Its exit code is 1 where a floor is missed, which is no matter here."""
    out = python("bench.d/main.py", "--build", "{build}", "--no-build", "--parts", "nccl", "--json", "--slices", "2", "--slice-ms", "50",
                 "--nccl-sizes", "8,1M", "--nccl-losses", "0,1", codes=(0, 1))
    places = json.loads(out)["nccl"]["places"]
    assert set(places) == {"loopback", "veth"}
    for name, losses in places.items():
        assert set(losses) == {"0", "1"}, losses
        for loss, result in losses.items():
            transports = {"NCCL Socket", "TCP plugin", "MRC sockets", "MRC default"} - ({"MRC default"} if (name, loss) == ("loopback", "1") else set())
            assert "NCCL_SOCKET_IFNAME" in result["socket"]["large"], result["socket"]
            assert len(result["groups"]) == 4 * 2, result["groups"]
            for measurement, group in result["groups"].items():
                figures = group["contenders"]
                assert set(figures) == transports and all(f["time_us"]["median"] > 0 and f["cpu_s_per_gb"]["median"] > 0 for f in figures.values()), (name, loss, measurement, figures)


def test_demo_shows_both_transports_through_the_fault():
    """The times of its verdict are those of a machine with nothing else to do."""
    out = python("demo.d/nccl.py", "{build}", codes=(0, 1))
    assert "yes  MRC: every element is right, and no error" in out and "yes  MRC went on while the plane was dead" in out
    with open(files.at("out", "nccl-fault.json"), encoding="utf-8") as text:
        runs = json.load(text)["runs"]
    assert [run["transport"] for run in runs] == ["NCCL Socket", "MRC sockets"] and runs[0]["plane"] == runs[1]["plane"], runs
    assert all(abs(sum(run["shares"]) - 1) < 0.01 for run in runs), runs
    with open(files.at("out", "nccl-fault.svg"), encoding="utf-8") as picture:
        assert picture.read().count("<polyline") == 2
