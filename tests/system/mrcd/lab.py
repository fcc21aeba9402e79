"""Two hosts over two planes of four T1s in namespaces (tests/harness/srv6_lab.py), with an mrcd on each that watches them."""
import json

import built
import environment
import files
from namespaces import inside
from process import Process, run
from skip import need, need_program
from srv6_lab import UN, Lab
from wait import until

HTTP = "127.0.0.1:9417"
TOKEN = "open-sesame"


class Watched:
    """The lab with its daemons; `hosts` without one are bare."""

    def __init__(self, rate=100, hosts=(1, 2)):
        self.rate, self.with_daemon, self.daemons = rate, hosts, {}
        self.lab = Lab()

    def __enter__(self):
        self.lab.__enter__()
        try:
            self.lab.await_links()  # or the monitors would find every path dead at first
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
        self.lab.__exit__()
        for process in self.daemons.values():
            process.no_report()

    def write_config(self, host):
        other = self.lab.address(1, 3 - host)
        files.write(f"h{host}.yaml", self.lab.device(host, more=f"""mrcd_socket: "{files.at(f'h{host}.sock')}"
mrcd:
  state: "{files.at(f'h{host}.json')}"
  http: "{HTTP}"
  token: "{TOKEN}"
  probe_rate: {self.rate}
  peers: "{other}"
ev_count: 32
ev_backups: 0
publish: ""
"""))

    def environment(self, host):
        return environment.clean({"MRC_CONFIG": files.at(f"h{host}.yaml")})

    def start(self, host):
        self.daemons[host] = Process([*self.lab.inside(host), built.path("MRCD")], self.environment(host))
        until(lambda: self.ctl(host, "show", "denies", code=None).returncode == 0, lambda: f"mrcd does not answer: {self.daemons[host]}")

    def run(self, host, *words):
        return run([*self.lab.inside(host), *words], self.environment(host)).stdout

    def ctl(self, host, *words, code=0):
        return run([*self.lab.inside(host), built.path("MRCCTL"), *words], self.environment(host), code)

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
        run(["ip", "-n", self.lab.routers[plane - 1], "-6", "route", what, name, *more])

    def gray(self, plane, usid, percent, host=None):
        """Part of what is addressed to that switch first is lost, of all hosts or of one."""
        need_program("nft", "nftables")
        where = f'iifname "host{host}" ' if host else ""
        rules = f"""table ip6 gray {{
  chain lossy {{
    type filter hook prerouting priority 0;
    {where}ip6 daddr {self.lab.block(plane)}:{usid}::/48 numgen random mod 100 < {percent} drop;
  }}
}}
"""
        done = run([*inside(self.lab.routers[plane - 1]), "nft", "-f", "-"], code=None, input=rules)
        assert "syntax error" not in done.stderr, done.stderr
        need(done.returncode == 0, f"this kernel cannot lose packets at random: {done.stderr.strip()}")

    def clear(self, plane):
        run([*inside(self.lab.routers[plane - 1]), "nft", "delete", "table", "ip6", "gray"])
