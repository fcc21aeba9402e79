"""The part `srv6` of tools/bench: one queue pair over the sockets of the kernel across a fabric in namespaces (host, T0, T1, T0,
host: four links), its packets encapsulated by the hosts' routes beside plain ones that take one fixed T1 of each plane."""
import os
import shutil
import subprocess
import tempfile

import contenders
import places
import programs
from slices import Group, with_cpu

LIMIT_S = 60
PLANES = 2
# Far faster than the machine: no queue limits what is measured.
FABRIC = f"""name: bench
planes: {PLANES}
t0: 2
t1: 2
nics_per_t0: 1
nic_link: {{rate: 400G, delay: 500ns}}
ev: {{count: 16}}
"""
PLAIN, ENCAPSULATED, SINGLY = "plain UDP", "SRv6, encapsulated", "SRv6, one per send"


def missing():
    """The reason why this cannot be measured here; empty: it can."""
    if os.geteuid() != 0:
        return "it needs root for network namespaces"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "iproute2 is missing (apt-get install iproute2)"
    return "" if programs.program("mrc-fabric") and programs.program("mrc-perf") else "mrc-fabric is not built"


class Lab(places.Place):
    """Hosts h0 (client) and h1 (server); `plain` is the environment without SRv6, one for each of them."""

    name = "fabric"
    server_host, client_host = "h1", "h0"
    out_of_band = server_host

    def __init__(self):
        self.files = tempfile.TemporaryDirectory(prefix="mrc-bench-")
        self.fabric, self.lab = programs.program("mrc-fabric"), f"bench{os.getpid()}"
        self.run("up", self.write("fabric.yaml", FABRIC))
        try:
            self.server, self.client = self.inside(self.server_host), self.inside(self.client_host)
            self.server_env, self.client_env = self.own(self.server_host), self.own(self.client_host)
            self.plain = {host: {"MRC_CONFIG": self.write(host + ".yaml", self.plain_config(host))}
                          for host in (self.server_host, self.client_host)}
        except BaseException:
            self.close()
            raise

    def close(self):
        self.run("down")
        self.files.cleanup()

    def run(self, command, *words):
        done = subprocess.run([self.fabric, command, "--lab", self.lab, *words], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False, env={k: v for k, v in os.environ.items() if k != "MRC_CONFIG"})
        if done.returncode != 0:
            raise contenders.Failed(f"mrc-fabric {command}: {done.stderr.strip()}")
        return done.stdout

    def inside(self, host):
        return [self.fabric, "exec", "--lab", self.lab, host, "--"]

    def own(self, host):
        """The environment with the configuration that the lab has for a host: tools/bench has cleared it."""
        return {"MRC_CONFIG": self.run("exec", host, "--", "printenv", "MRC_CONFIG").strip()}

    def write(self, name, text):
        path = os.path.join(self.files.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    @staticmethod
    def addresses_of(host):
        return [f"fd00:{plane}:{host[1:]}::1".replace(":0::", "::") for plane in range(1, PLANES + 1)]

    def plain_config(self, host):
        """Rate, MTU and number of entropy values as with SRv6; addresses that the fabric routes without lists."""
        with open(self.own(host)["MRC_CONFIG"], encoding="utf-8") as file:
            text = file.read()
        peer = self.client_host if host == self.server_host else self.server_host
        planes = "".join(f"      - {{address: '{a}'}}\n" for a in self.addresses_of(host))
        peers = self.addresses_of(peer)
        return (text[:text.index("ev_mode:")] + f"devices:\n  - name: mrc0\n    planes:\n{planes}    peers:\n      list:\n"
                f"        - {{gid: '{peers[0]}', planes: {peers}}}\n")


class PlainPlace(places.Place):
    """The same hosts without SRv6."""

    def __init__(self, lab):
        self.server, self.client, self.out_of_band = lab.server, lab.client, lab.out_of_band
        self.server_env, self.client_env = lab.plain[lab.server_host], lab.plain[lab.client_host]


def group(lab):
    test = {"size": 1 << 20, "depth": 16}
    made = {PLAIN: lambda: contenders.mrc(PlainPlace(lab), **test),
            ENCAPSULATED: lambda: contenders.mrc(lab, over={"MRC_SRV6_ENCAP": "kernel"}, **test),
            SINGLY: lambda: contenders.mrc(lab, over={"MRC_GSO": "off"}, **test)}
    rows = [*with_cpu("SRv6, encapsulated by the kernel / plain UDP", ENCAPSULATED, PLAIN, ">=", 0.75),
            *with_cpu("SRv6, one packet per send / plain UDP", SINGLY, PLAIN)]
    return Group("1 MiB over one queue pair, four links", made, rows)
