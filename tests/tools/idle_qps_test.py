"""idle_qps_test.py PROGRAM QPS SHARDS: that many queue pairs of one process, over that many shards, move data and are small.

The program compares every byte that arrives."""
import json
import os
import subprocess
import sys

IDLE_BYTES = 8192  # of each queue pair; a sanitizer's memory is not counted

program, qps, shards = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
env |= {"MRC_SHARDS": str(shards), "MRC_SAME_HOST": "network", "MRC_MRCD_SOCKET": ""}
run = subprocess.run([program, "--qps", str(qps)], env=env, stdout=subprocess.PIPE, text=True, check=True)
figures = json.loads(run.stdout)
print(figures)
assert figures["qps"] == qps
assert len(figures["by_slot"]) == shards, "each shard has a process slot of its own"
assert max(figures["by_slot"].values()) - min(figures["by_slot"].values()) <= 1, "queue pairs are spread equally"
if qps >= 10000:  # with fewer of them the process itself weighs
    assert figures["idle_bytes"] <= IDLE_BYTES, figures
