"""Two hosts and a router per plane in namespaces of their own; the routers are every switch of their plane.

Plane p has the block fcbb:bb0p::/32; the router answers to the uSIDs of T0 t (e p 0 t) and T1 j (f p 0 j) by the
kernel's own uN and counts what each of them shifts. Host 1 is fcbb:bb0p:101::, host 2 fcbb:bb0p:201::. Names and routes
as in spec/srv6.md.
"""
import json

from namespaces import Namespaces, inside, ip
from process import run

UN = ["encap", "seg6local", "action", "End", "flavors", "next-csid", "lblen", "32", "nflen", "16", "count"]


class Lab(Namespaces):
    def __init__(self, planes=2, uplinks=4):
        self.planes, self.uplinks = range(1, planes + 1), range(1, uplinks + 1)
        self.hosts = [f"mrc-srv6-h{host}" for host in (1, 2)]
        self.routers = [f"mrc-srv6-r{plane}" for plane in self.planes]
        super().__init__(self.hosts + self.routers)

    def make(self):
        for plane, router in zip(self.planes, self.routers):
            run([*inside(router), "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"])
            for number, host in enumerate(self.hosts, 1):
                self.cable(plane, router, number, host)
            for usid in self.usids(plane):
                ip("-n", router, "-6", "route", "add", f"{self.block(plane)}:{usid}::/48", *UN, "dev", "host1")

    def cable(self, plane, router, number, host):
        ip("link", "add", f"plane{plane}", "netns", host, "type", "veth", "peer", "name", f"host{number}", "netns",
           router)
        ip("-n", host, "address", "add", f"{self.address(plane, number)}/128", "dev", f"plane{plane}", "nodad")
        ip("-n", router, "address", "add", f"fe80::{number}/64", "dev", f"host{number}", "nodad")
        ip("-n", host, "link", "set", f"plane{plane}", "mtu", "9000", "up")
        ip("-n", router, "link", "set", f"host{number}", "mtu", "9000", "up")
        ip("-n", host, "-6", "route", "add", f"{self.block(plane)}::/32", "via", f"fe80::{number}", "dev",
           f"plane{plane}", "src", self.address(plane, number))
        ip("-n", router, "-6", "route", "add", f"{self.block(plane)}:{number}01::/48", "dev", f"host{number}")

    @staticmethod
    def block(plane):
        return f"fcbb:bb0{plane}"

    def address(self, plane, host):
        return f"{self.block(plane)}:{host}01::"

    def t1s(self, plane):
        return [f"f{plane}{uplink:02x}" for uplink in self.uplinks]

    def usids(self, plane):
        return self.t1s(plane) + [f"e{plane}01", f"e{plane}02"]

    def inside(self, host):
        """The words before a command that is to run on that host, 1 or 2."""
        return inside(self.hosts[host - 1])

    def shifted(self, plane):
        """Bytes that each uSID of the plane has shifted."""
        done = run(["ip", "-n", self.routers[plane - 1], "-json", "-stats", "-6", "route"])
        return {route["dst"].split(":")[2]: route["stats64"]["bytes"] for route in json.loads(done.stdout)
                if "stats64" in route}

    def device(self, host, more="", loop=None):
        """The configuration of a host, with settings of the test's own."""
        other = 3 - host
        loop = loop or f"f{{plane}}{{uplink:2}}:e{{plane}}0{host}"
        addresses = "\n".join(f"      - {{address: '{self.address(plane, host)}'}}" for plane in self.planes)
        mode = "" if "ev_mode" in more else "ev_mode: srv6"
        return f"""{mode}
srv6_uplinks: {len(self.uplinks)}
srv6_paths: |
  fcbb:bb0{{plane}}:{host}00::/40 direct
  fcbb:bb0{{plane}}:{other}00::/40 via f{{plane}}{{uplink:2}}:e{{plane}}0{other}
srv6_loop: "{loop}"
{more}
devices:
  - name: mrc0
    planes:
{addresses}
    peers:
      template: "fcbb:{{plane+47872}}:{{host}}::"
"""
