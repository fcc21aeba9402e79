"""The targets of the build that each part of tools/bench measures with, so that no other is built."""
import platform
import shutil
import subprocess

RAW, TCP = "mrc-udp-limit", "mrc-socket-limit"
PLUGINS = ("nccl-net-mrc", "nccl-net-tcp-baseline")
ALL = ("mrc-perf",)
OF_PART = {
    "bandwidth": (RAW, TCP), "latency": (RAW, TCP), "sizes": (TCP,), "rate": (RAW,), "qps": (), "shards": (), "datapaths": (),
    "drivers": ("mrc-xdp-limit", "mrc-rte-limit"), "srv6": ("mrc-fabric",), "idle": ("mrc-idle-qps",), "locks": ("mrc-lock-count",),
    "loss": (TCP,), "recovery": (), "collectives": ("nccl-net-bench", *PLUGINS), "fabric": ("mrc-fabric", "mrcd", "mrcctl"),
    "preflight": ("mrc-fabric", "mrcctl", "mrc-info", "nccl-net-bench", "nccl-net-mrc"), "nccl": ("nccl-rig", *PLUGINS),
    "applications": ("mrc-verbs", "mpi_bandwidth_openmpi", "mpi_bandwidth_mpich"),
}


def has_dpdk():
    return shutil.which("pkg-config") is not None and subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode == 0


# Targets that the build has under a condition only.
CONDITIONS = {"mrc-rte-limit": has_dpdk, "nccl-rig": lambda: platform.machine() == "x86_64",
              "mpi_bandwidth_openmpi": lambda: shutil.which("mpicc.openmpi") is not None,
              "mpi_bandwidth_mpich": lambda: shutil.which("mpicc.mpich") is not None}


def targets(parts):
    """Of these parts, each once; a word of `parts` that stands for others ("targets") has none of its own."""
    wanted = dict.fromkeys([*ALL, *(target for part in parts for target in OF_PART.get(part, ()))])
    return [target for target in wanted if target not in CONDITIONS or CONDITIONS[target]()]
