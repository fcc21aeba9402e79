"""Runs of nccl-rig: NVIDIA's NCCL over the plugin, without a GPU. See tests/harness/run_one.py."""
import json
import os
import subprocess

BUILT = {}
FOLDER = ""


class Skipped(Exception):
    """The requirements that this machine lacks."""


def prepare(folder, built):
    global FOLDER
    FOLDER = folder
    BUILT.update(built)
    found = subprocess.run([BUILT["NCCL_RIG"], "--library"], capture_output=True, text=True, check=False)
    if found.returncode == 77:
        raise Skipped(found.stdout.strip().removeprefix("skipped: "))
    assert found.returncode == 0, found.stdout + found.stderr


def rig(*arguments, code=0, same_host="memory", **settings):
    """The output of nccl-rig; `settings` are environment variables. NCCL's log is in the failure's text."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "MRC_"))}
    environment.update({"MRC_CONFIG": "/dev/null", "MRC_MRCD_SOCKET": "", "MRC_SAME_HOST": same_host}, **{k: str(v) for k, v in settings.items()})
    done = subprocess.run([BUILT["NCCL_RIG"], *map(str, arguments)], env=environment, cwd=FOLDER, capture_output=True,
                          text=True, errors="replace", timeout=890, check=False)
    text = done.stdout + done.stderr
    print(text)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}"
    return text


def report(*arguments, **settings):
    """The lines of the report."""
    path = os.path.join(FOLDER, "report.json")
    rig(*arguments, "--json", path, **settings)
    with open(path, encoding="utf-8") as text:
        return json.load(text)["lines"]


def played(text):
    """Functions of NCCL's kernels that ran."""
    return {line.split()[2] for line in text.splitlines() if line.startswith("# played ")}


def wrapped(kind):
    """Settings for a run over a wrapper of the plugin."""
    return {"NCCL_RIG_WRAPPED": BUILT["NCCL_NET_MRC"]}, ["--plugin", BUILT["WRAPPER_" + kind]]
