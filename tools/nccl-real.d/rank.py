"""One rank of nccl-real: collectives on GPU memory with whole numbers, so that every sum is exact. Started by main.py."""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist

ITERATIONS = 10


def operations(rank, world, count):
    """name, bus factor, what to run, what must have come out."""
    mine = torch.arange(count, device="cuda", dtype=torch.float32) % 61 + rank
    everyone = [torch.arange(count, device="cuda", dtype=torch.float32) % 61 + r for r in range(world)]
    out = torch.empty_like(mine)
    gathered = torch.empty(count * world, device="cuda", dtype=torch.float32)
    exchanged = torch.empty_like(mine)
    part = count // world

    def all_reduce():
        out.copy_(mine)
        dist.all_reduce(out)

    return (
        ("all-reduce", 2 * (world - 1) / world, all_reduce, lambda: (out, sum(everyone))),
        ("all-gather", (world - 1) / world * world, lambda: dist.all_gather_into_tensor(gathered, mine),
         lambda: (gathered, torch.cat(everyone))),
        ("all-to-all", (world - 1) / world, lambda: dist.all_to_all_single(exchanged, mine),
         lambda: (exchanged, torch.cat([e[rank * part:(rank + 1) * part] for e in everyone]))),
    )


def measure(rank, world, size, seconds):
    lines = []
    for name, factor, act, outcome in operations(rank, world, size // 4 // world * world):
        act()
        torch.cuda.synchronize()
        dist.barrier()
        start, done, wrong = time.monotonic(), 0, 0
        end = start + seconds
        while True:
            act()
            done += 1
            if seconds == 0:
                if done == ITERATIONS:
                    break
                continue
            got, right = outcome()
            wrong += int((got != right).sum())
            # Both ranks have to stop after the same iteration.
            go_on = torch.tensor([1.0 if time.monotonic() < end else 0.0], device="cuda")
            dist.all_reduce(go_on, op=dist.ReduceOp.MIN)
            if go_on.item() == 0:
                break
        torch.cuda.synchronize()
        each = (time.monotonic() - start) / done
        got, right = outcome()
        total = torch.tensor([float(wrong + int((got != right).sum()))], device="cuda")
        dist.all_reduce(total)
        lines.append({"op": name, "bytes": size, "seconds": each, "iterations": done,
                      "busbw_GBps": size / each * factor * 1e-9, "wrong": int(total.item())})
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=world)
    sizes = [int(s) for s in options.sizes.split(",")]
    lines = []
    for size in sizes if options.seconds == 0 else sizes[-1:]:
        lines += measure(rank, world, size, options.seconds)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        version = ".".join(str(v) for v in torch.cuda.nccl.version())
        with open(options.out, "w", encoding="utf-8") as f:
            json.dump({"nccl": f"NCCL {version}, {torch.cuda.get_device_name(0)}", "lines": lines}, f)


main()
