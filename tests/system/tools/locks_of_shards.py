"""No lock is taken by two shards for packets, as tools/bench counts them: with one shard two threads share its lock.

usage: locks_of_shards.py SOURCE_DIR BUILD_DIR
"""
import sys

import bench_modules
from limits import limit

source, build = sys.argv[1:]
bench_modules.use(source, build)
import locks  # noqa: E402

locks.RUN_S = limit(locks.RUN_S)
figures = locks.measure()
print(figures)
assert figures.get("one", 0) > 0, figures
assert figures["several"] == 0, [locks.count(locks.SHARDS, how) for how in (locks.POLLING, locks.ASLEEP)]
