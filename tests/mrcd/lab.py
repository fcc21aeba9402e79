"""Two hosts over two planes of four T1s in namespaces (tests/e2e/srv6_lab.py), with an mrcd on each that watches them."""
import json
import os
import shutil
import subprocess
import sys

import daemon

sys.path.insert(1, os.path.join(os.path.dirname(__file__), os.pardir, "e2e"))
import pair  # noqa: E402
from srv6_lab import UN, Lab  # noqa: E402

HTTP = "127.0.0.1:9417"
TOKEN = "open-sesame"


class Watched:
    """The lab with its daemons; `hosts` without one are bare."""

    def __init__(self, rate=100, hosts=(1, 2)):
        self.rate, self.with_daemon, self.daemons = rate, hosts, {}
        try:
            self.lab = Lab()
        except pair.Skipped as why:
            raise daemon.Skipped(why) from None

    def __enter__(self):
        try:
            self.lab.__enter__()
        except pair.Skipped as why:
            raise daemon.Skipped(why) from None
        try:
            for host in (1, 2):
                self.write_config(host)
            for host in self.with_daemon:
                self.start(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.daemons.values():
            process.kill()
            process.wait(daemon.LIMIT_S)
        self.lab.__exit__()

    def write_config(self, host):
        other = self.lab.address(1, 3 - host)
        daemon.write(f"h{host}.yaml", self.lab.device(host, more=f"""mrcd_socket: "{daemon.FOLDER}/h{host}.sock"
mrcd:
  state: "{daemon.FOLDER}/h{host}.json"
  http: "{HTTP}"
  token: "{TOKEN}"
  probe_rate: {self.rate}
  peers: "{other}"
ev_count: 32
ev_backups: 0
publish: ""
"""))

    def environment(self, host):
        env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
        env["MRC_CONFIG"] = os.path.join(daemon.FOLDER, f"h{host}.yaml")
        return env

    def start(self, host):
        self.run(host, "ip", "link", "set", "lo", "up")
        self.daemons[host] = subprocess.Popen([*self.lab.inside(host), daemon.MRCD], env=self.environment(host))
        daemon.until(lambda: self.ctl(host, "show", "denies", code=None).returncode == 0, "mrcd does not answer")

    def run(self, host, *words):
        done = subprocess.run([*self.lab.inside(host), *words], env=self.environment(host), capture_output=True,
                              text=True, timeout=daemon.LIMIT_S, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def ctl(self, host, *words, code=0):
        done = subprocess.run([*self.lab.inside(host), daemon.MRCCTL, *map(str, words)], env=self.environment(host),
                              capture_output=True, text=True, timeout=daemon.LIMIT_S, check=False)
        assert code is None or done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def json(self, host, *words, code=0):
        return json.loads(self.ctl(host, "--json", *words, code=code).stdout)

    def faults(self, host):
        return [f["text"].partition(" (")[0] for f in self.json(host, "show", "monitor", code=None)["findings"]]

    def denies(self, host):
        return [(d["plane"], d.get("via", "")) for d in self.json(host, "show", "denies")["devices"][0]["denies"]]

    # Changes of the switches. A uSID is `e101`, `f102`..; the router of its plane plays them all.
    def forget(self, plane, usid):
        self.route("del", plane, usid)

    def learn(self, plane, usid):
        self.route("add", plane, usid, *UN, "dev", "host1")

    def route(self, what, plane, usid, *more):
        name = f"{self.lab.block(plane)}:{usid}::/48"
        subprocess.run(["ip", "-n", self.lab.routers[plane - 1], "-6", "route", what, name, *more], check=True,
                       capture_output=True, timeout=daemon.LIMIT_S)

    def gray(self, plane, usid, percent, host=None):
        """Part of what is addressed to that switch first is lost, of all hosts or of one."""
        if shutil.which("nft") is None:
            raise daemon.Skipped("nft is missing (apt-get install nftables)")
        where = f'iifname "host{host}" ' if host else ""
        rules = f"""table ip6 gray {{
  chain lossy {{
    type filter hook prerouting priority 0;
    {where}ip6 daddr {self.lab.block(plane)}:{usid}::/48 numgen random mod 100 < {percent} drop;
  }}
}}
"""
        done = subprocess.run(["ip", "netns", "exec", self.lab.routers[plane - 1], "nft", "-f", "-"], input=rules,
                              capture_output=True, text=True, timeout=daemon.LIMIT_S, check=False)
        assert "syntax error" not in done.stderr, done.stderr
        if done.returncode != 0:
            raise daemon.Skipped(f"this kernel cannot lose packets at random: {done.stderr.strip()}")

    def clear(self, plane):
        subprocess.run(["ip", "netns", "exec", self.lab.routers[plane - 1], "nft", "delete", "table", "ip6", "gray"],
                       check=True, capture_output=True, timeout=daemon.LIMIT_S)
