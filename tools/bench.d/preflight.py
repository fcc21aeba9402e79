"""The part `preflight` of tools/bench: how long nccl-net-bench --hosts takes over 16 hosts of a fabric in namespaces, all well, and
with a slow host and a gray link, both of which it has to name. The measuring itself is tools/lib/lab/job_preflight.py, run beside a
lab that `mrc-fabric run` builds and removes."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import programs

LAB_TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib", "lab")
MEASURE = os.path.join(LAB_TOOLS, "job_preflight.py")
sys.path.append(LAB_TOOLS)
import sixteen  # noqa: E402

MAX_S = 60
LIMIT_S = 300  # of the lab's setup, and of each preflight


def needed():
    """mrc-fabric, and the programs of a preflight in the order of job_preflight.py; None: not built."""
    return [programs.program("mrc-fabric"), programs.program("nccl-net-bench"), programs.library(*programs.MRC_PLUGIN), programs.program("mrcctl")]


def missing():
    """The reason why this cannot be measured here; empty: it can."""
    if os.geteuid() != 0:
        return "it needs root for network namespaces"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "iproute2 is missing (apt-get install iproute2)"
    return "" if all(needed()) and programs.program("mrc-info") else "mrc-fabric, nccl-net-bench, its plugin, mrcctl or mrc-info is not built"


def measure(rounds):
    """The object that job_preflight.py prints, or {"error": sentence}."""
    why = missing()
    if why:
        return {"error": why}
    mrc_fabric, *tools = needed()
    with tempfile.NamedTemporaryFile("w", prefix="mrc-preflight-", suffix=".yaml", encoding="utf-8") as lab:
        lab.write(sixteen.LAB)
        lab.flush()
        try:
            done = subprocess.run([mrc_fabric, "run", lab.name, "--lab", f"bench{os.getpid()}", "--", sys.executable, "-B", MEASURE, mrc_fabric,
                                   *tools, "--rounds", str(rounds)], stdout=subprocess.PIPE, text=True,
                                  timeout=LIMIT_S * (1 + 2 * rounds), check=False)
            return json.loads(done.stdout) if done.returncode == 0 else {"error": f"exit status {done.returncode}"}
        except (subprocess.TimeoutExpired, ValueError) as e:
            return {"error": str(e)}


def judged(result):
    """Rows in the shape of report.ratios."""
    rows = []
    for title, figures in (("all well", result["well"]), ("one slow and a gray link", result["faulty"])):
        seconds = figures["seconds"]
        value = statistics.median(seconds)
        rows.append({"ratio": f"preflight of 16 hosts, {title}, s", "value": round(value, 1), "least": min(seconds), "most": max(seconds),
                     "target": f"<= {MAX_S}", "met": value <= MAX_S})
    rounds = result["faulty"]["unnamed"]
    named = sum(not words for words in rounds) / len(rounds)
    rows.append({"ratio": "preflight of 16 hosts: rounds that named both", "value": named, "target": ">= 1", "met": named >= 1})
    return rows


def show(result):
    print(f"\npreflight of 16 hosts, {len(result['faulty']['seconds'])} rounds")
    for words in {words for rounds in result["faulty"]["unnamed"] for words in rounds}:
        print(f"  not named in a round: {words}")
    for text in {text for rounds in result["well"]["findings"] for text in rounds}:
        print(f"  found although all is well: {text}")
