"""A lab of 16 hosts for a job's preflight (nccl-net-bench --hosts), and the faults that it has to name: for the test and for
job_preflight.py, which measures how long it takes."""

LAB = """name: sixteen
planes: 2
t0: 4
t1: 2
nics_per_t0: 4
nic_link: {rate: 0.5G, delay: 500ns}
ev: {count: 16}
"""
HOSTS = [f"h{i}" for i in range(16)]
# Words of mrc-fabric fault: host 5 is slow on both planes, a link of T0 1 loses packets.
FAULTS = (("rate", "h5:p0", "25M"), ("rate", "h5:p1", "25M"), ("loss", "p0-t0-1:t1-0", "10%"))
# Kinds and first words of the findings that name them.
NAMED = (("slow host", "h5 sends at "), ("path", "plane 1: link between T0 0401 and T1 0800"))


def command(bench, plugin, mrcctl, inside, path):
    """The words of a preflight that writes its report to `path`. `inside`: host -> words before a command there."""
    return [bench, plugin, "--hosts", ",".join(HOSTS), "--launch", " ".join(inside("{host}")), "--path-prober", mrcctl,
            "--env", "NCCL_SOCKET_IFNAME=oob", "-s", "1M", "-n", "2", "--json", path]


def unnamed(report):
    """The first words of the findings that are missing."""
    found = [(finding["kind"], finding["text"]) for finding in report["findings"]]
    return [words for kind, words in NAMED if not any(k == kind and text.startswith(words) for k, text in found)]
