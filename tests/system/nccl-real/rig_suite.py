"""Runs of nccl-rig: NVIDIA's NCCL over the plugin, without a GPU."""
import functools
import json

import built
import files
from environment import clean
from limits import limit
from process import run
from skip import SKIPPED, need


@functools.cache
def need_nccl():
    """The program's path; NCCL's library is the one that it knows."""
    program = built.path("NCCL_RIG")
    found = run([program, "--library"], code=None)
    need(found.returncode != SKIPPED, found.stdout.strip().removeprefix("skipped: "))
    assert found.returncode == 0, found.stdout + found.stderr
    return program


def rig(*arguments, code=0, same_host="memory", given=None, **settings):
    """The output of nccl-rig with that standard input; `settings` are environment variables. NCCL's log is in the failure's text."""
    environment = {"MRC_CONFIG": "/dev/null", "MRC_MRCD_SOCKET": "", "MRC_SAME_HOST": same_host, **{k: str(v) for k, v in settings.items()}}
    done = run([need_nccl(), *arguments], clean(environment, ("NCCL_", "MRC_")), code=None, limit_s=limit(890), cwd=files.at(), input=given)
    text = done.stdout + done.stderr
    print(text)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}"
    return text


def report(*arguments, **settings):
    """The lines of the report."""
    path = files.at("report.json")
    rig(*arguments, "--json", path, **settings)
    with open(path, encoding="utf-8") as text:
        return json.load(text)["lines"]


def played(text):
    """Functions of NCCL's kernels that ran."""
    return {line.split()[2] for line in text.splitlines() if line.startswith("# played ")}


def wrapped(kind):
    """Settings for a run over a wrapper of the plugin."""
    return {"NCCL_RIG_WRAPPED": built.path("NCCL_NET_MRC")}, ["--plugin", built.path("WRAPPER_" + kind), "--expect-net", "MRC"]
