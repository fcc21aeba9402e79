"""NCCL for real: all-reduce and others through PyTorch with two ranks on one GPU, over the plugin and over NCCL's own
socket transport in one run, and once more over the plugin while a plane dies. Both ranks being on one host, the plugin
uses shared memory, and where it is told so its sockets, as between hosts. The plugin registers GPU memory if it can, and
in one run it leaves GPU memory to NCCL. The results are compared with their exact values. NCCL's log must say that the
plugin was its network, because a plugin that fails is otherwise replaced silently, and how GPU memory was reached.

Needs a GPU, PyTorch with NCCL, and the built plugin (--plugin); everything else is in this folder, so that it runs on a
bare machine, and in sandboxes without namespaces or GSO. Exit code 0: all well, or skipped with a reason; 1: failed.
"""
import argparse
import ctypes
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def skip(reason):
    print(f"nccl-real: skipped: {reason}")
    sys.exit(0)


def why_not():
    """The requirements that this machine lacks, or None."""
    try:
        import torch
    except ImportError:
        return "no PyTorch here"
    if not torch.cuda.is_available():
        return "no GPU here"
    if not torch.distributed.is_nccl_available():
        return "this PyTorch has no NCCL"
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(name, settings, options):
    """Both ranks of one run; returns rank 0's measurements and the joined log."""
    folder = tempfile.mkdtemp(prefix="nccl-real-")
    port = free_port()
    ranks = []
    for rank in range(2):
        environment = {
            **os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2",
            # Two host names make NCCL accept one GPU twice and use the network; shared memory and P2P would go round it.
            "NCCL_HOSTID": f"nccl-real-{rank}", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
            "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET",
            "NCCL_DEBUG_FILE": os.path.join(folder, f"nccl.{rank}"), **settings}
        command = [sys.executable, "-B", os.path.join(HERE, "rank.py"), *options, "--out", os.path.join(folder, "result")]
        ranks.append(subprocess.Popen(command, env=environment))
    try:
        codes = [r.wait(timeout=240) for r in ranks]
    except subprocess.TimeoutExpired:
        codes = ["no end within 240 s"]
    finally:
        for r in ranks:
            if r.poll() is None:
                r.kill()
                r.wait()
    log = ""
    for rank in range(2):
        path = os.path.join(folder, f"nccl.{rank}")
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                log += f.read()
    result = None
    if os.path.exists(os.path.join(folder, "result")):
        with open(os.path.join(folder, "result"), encoding="utf-8") as f:
            result = json.load(f)
    good = codes == [0, 0] and result is not None and all(line["wrong"] == 0 for line in result["lines"])
    print(f"# {name}: {'right' if good else f'FAILED, exit codes {codes}'}")
    for line in result["lines"] if result else []:
        print(f"  {line['op']:<14} {line['bytes']:>12} B {line['seconds'] * 1e6:>12.1f} us  busbw {line['busbw_GBps']:>8.3f} GB/s"
              f"  #wrong {line['wrong']}")
    if not good:
        print("\n".join(log.splitlines()[-40:]))
    return good, result, log


def used_network(log):
    found = re.findall(r"Assigned NET plugin (\S+)|Using network (\S+)", log)
    return sorted({a or b for a, b in found})


# What the plugin logs of GPU memory, by NCCL_MRC_GPU.
GPU_MEMORY = {"auto": r"registered through gdrcopy|not registered \((?!NCCL_MRC_GPU=).+\): NCCL stages through host memory",
              "off": r"not registered \(NCCL_MRC_GPU=off\): NCCL stages through host memory"}


def complaints(settings, log):
    """Reports what NCCL's log has, and returns what it should have for a run with these settings and has not."""
    networks, gpu = used_network(log), sorted(set(re.findall(r"NET/MRC: GPU memory is (.+)", log)))
    print(f"  network according to NCCL: {', '.join(networks) or 'nothing said'}")
    wrong = [] if networks == [settings["NCCL_NET"]] else [f"NCCL was to use {settings['NCCL_NET']} alone"]
    if "NCCL_MRC_GPU" in settings:
        print(f"  GPU memory according to the plugin: {', '.join(gpu) or 'nothing said'}")
        if len(gpu) != 1 or not re.fullmatch(GPU_MEMORY[settings["NCCL_MRC_GPU"]], gpu[0]):
            wrong.append(f"the plugin was to log one way to GPU memory, of NCCL_MRC_GPU={settings['NCCL_MRC_GPU']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="nccl-real", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=os.path.join(ROOT, "build/dev/nccl-plugin/libnccl-net-mrc.so"), help="the built plugin")
    parser.add_argument("--sizes", default="4096,1048576,16777216", help="bytes, comma-separated")
    parser.add_argument("--seconds", type=float, default=6, help="length of the run in which a plane dies")
    parser.add_argument("--fault", default="plane=2:blackhole@2s-4s", help="MRC_FAULT of that run")
    parser.add_argument("--json", help="write the report to this file")
    options = parser.parse_args()

    reason = why_not()
    if reason:
        skip(reason)
    if not os.path.exists(options.plugin):
        print(f"nccl-real: {options.plugin} is not there: build it, or name it with --plugin")
        return 1
    library = os.path.abspath(options.plugin)
    try:
        ctypes.CDLL(library)  # for the reason, which NCCL does not log by default
    except OSError as why:
        print(f"nccl-real: {library} cannot be loaded: {why}")
        return 1
    # NCCL registers GPU memory with near NICs alone; a software device is at no place of the PCI bus.
    over_mrc = {"NCCL_NET_PLUGIN": library, "NCCL_NET": "MRC", "NCCL_MRC_GPU": "auto", "NCCL_NET_GDR_LEVEL": "SYS"}
    over_sockets = {"MRC_SAME_HOST": "network"}
    sizes = ["--sizes", options.sizes]
    report, failed = {}, False
    for name, settings, arguments in (
            ("NCCL's own sockets", {"NCCL_NET_PLUGIN": "none", "NCCL_NET": "Socket"}, sizes),
            ("the plugin", over_mrc, sizes),
            ("the plugin, GPU memory left to NCCL", {**over_mrc, "NCCL_MRC_GPU": "off"}, sizes),
            ("the plugin over sockets, as between hosts", {**over_mrc, **over_sockets}, sizes),
            ("the plugin over sockets, a plane dies", {**over_mrc, **over_sockets, "MRC_FAULT": options.fault},
             [*sizes, "--seconds", str(options.seconds)])):
        good, result, log = run(name, settings, arguments)
        if result:
            print(f"  {result['nccl']}")
        wrong = complaints(settings, log)
        for sentence in wrong:
            print(f"  FAILED: {sentence}")
        good = good and not wrong
        failed = failed or not good
        report[name] = {"good": good, "networks": used_network(log), "result": result}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=2)
    print("nccl-real:", "FAILED" if failed else "all well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
