"""No lock is taken by two shards for packets, as tools/bench counts them: with one shard two threads share its lock.

usage: locks_of_shards.py SOURCE_DIR BUILD_DIR
"""
import os
import sys

from environment import clean
from limits import limit

source, build = sys.argv[1:]
settings = clean({"MRC_CONFIG": "/dev/null", "MRC_MRCD_SOCKET": ""})
os.environ.clear()
os.environ.update(settings)
sys.path.insert(0, os.path.join(source, "tools", "bench.d"))
import locks  # noqa: E402
import programs  # noqa: E402

programs.build = build
locks.RUN_S = limit(locks.RUN_S)
figures = locks.measure()
print(figures)
assert figures.get("one", 0) > 0, figures
assert figures["several"] == 0, [locks.count(locks.SHARDS, how) for how in (locks.POLLING, locks.ASLEEP)]
