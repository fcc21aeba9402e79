"""idle_qps_test.py PROGRAM QPS SHARDS: that many queue pairs of one process, over that many shards, move data and are small.

The program compares every byte that arrives."""
import json
import sys

from environment import clean
from limits import limit
from process import run

IDLE_BYTES = 8192  # of each queue pair; a sanitizer's memory is not counted

program, qps, shards = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
env = clean({"MRC_SHARDS": str(shards), "MRC_SAME_HOST": "network", "MRC_MRCD_SOCKET": ""})
figures = json.loads(run([program, "--qps", qps], env, limit_s=limit(900)).stdout)
print(figures)
assert figures["qps"] == qps
assert len(figures["by_slot"]) == shards, "each shard has a process slot of its own"
assert max(figures["by_slot"].values()) - min(figures["by_slot"].values()) <= 1, "queue pairs are spread equally"
if qps >= 10000:  # with fewer of them the process itself weighs
    assert figures["idle_bytes"] <= IDLE_BYTES, figures
