"""A preflight with plugin MRC: what it says where the paths cannot be probed.

usage: preflight.py NCCL_NET_BENCH PLUGIN
"""
import sys

import process
from environment import clean
from limits import limit

bench, plugin = sys.argv[1:]

ran = process.run([bench, plugin, "--hosts", "red,blue", "-s", "96K", "-n", "1", "--env", "NCCL_SOCKET_IFNAME=lo", "--launch",
                   "env HOST={host}", "--path-prober", "no-such-mrcctl"], clean({}, ["NCCL_DEBUG"]), code=None, limit_s=limit(120))
everything = ran.stdout + ran.stderr
assert ran.returncode == 1, everything
assert "path: the paths could not be probed: no-such-mrcctl cannot be run here (--path-prober names another one" in ran.stdout, everything
