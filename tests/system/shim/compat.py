"""Writes tests/compat.md: every row of programs.py is run, and what happened is the table. TEST_PROGRAMS is the folder of
the MRC programs (tests/system/shim in a build folder).

usage: PYTHONPATH=tests/harness compat.py SHIM COMPAT OUTPUT [--check]
With --check nothing is run or written: the table must have the rows.
"""
import sys

import built
import programs
import rows
from skip import Skipped


MRC_SECTION = ("", "## Programs for mrc.h", "",
               "`tests/system/shim/mrc/program.c`, compiled as C and as C++, does what benchmarks and NCCL plugins for MRC do: device list,",
               "open, protection domain and memory by `ibv_*`, the device's place and GID types from sysfs, versioned queries and",
               "contexts, completion queue with channel, hints, four queue pairs, writes answered in memory, bursts with a signal per",
               "64, immediates with and without data in both directions, teardown in either order. It runs with",
               "`LD_PRELOAD=libmrc-verbs.so` and nothing else, wherever it takes the 41 MRC functions from. Without the preload it",
               "finds no device.", "")


NOTES = """\
## Programs over rdma_cm

librdmacm is unchanged; the shim answers as the kernel's device (`spec/rdma_cm.md`). Tests are in `tests/system/shim/test_rdma_cm.py`.

| program | shows |
|---|---|
| `rping` | both directions, IPv4 and IPv6, data checked, no listener, a client that is killed |
| `ucmatose -c 8` | eight connections by one channel |
| `cmtime -c 100` | a hundred connections, each step of all of them before the next one |
| `udaddy -c 4` | ids of datagrams, IPv4 and IPv6, both directions, no listener |
| `mckey` | multicast: one and three receivers, members that only send, two hosts (`tests/system/shim/test_multicast.py`) |
| `rdma_server`, `rdma_client` | ids without a channel |
| `rstream` | rsockets, blocking and not, data checked |
| `rcopy` | rsockets, a file that is compared |
| `udpong`, blocking, not blocking and by poll | datagram rsockets; `tests/system/shim/datagram_rsockets.py` compares the data, over IPv6 and losses, too, and between two hosts while a plane dies and returns (`tests/system/shim/test_rsockets_between_hosts.py`) |
| `riostream -T b -T v` | rsockets, memory that the peer overwrites and this side polls, data checked (VRB-RSP-13); over a plane that is late, too |
| `qperf -cm 1` | RC bandwidth; `ud_lat` and `ud_bw`, which meet by LID on one host, with `-cm 0`, too |
| `ib_write_bw -q 4`, `ib_write_lat`, `ib_send_bw`, `ib_send_lat`, `ib_read_bw`, `ib_read_lat`, `ib_atomic_bw`, `ib_atomic_lat`, and `ib_send_bw`, `ib_send_lat` with `-c UD`; all with `-R` | perftest |
| `fi_info -p verbs`, `fi_pingpong -e msg`, `-e dgram` over `verbs`, `-e rdm` over `verbs;ofi_rxm` and `verbs;ofi_rxd` | libfabric, data checked |
| `ucp_client_server -c stream`, `tag`, `am` | UCX's example, listening by rdma_cm |
| `fio --ioengine=rdma --verb=write`, `read` | fio's engine (`tests/system/shim/test_storage.py`) |
| `qemu-system-x86_64 -incoming rdma:...` | migration of a virtual machine; its memory is compared (`tests/system/shim/test_storage.py`) |

`ib_send_bw -c UD --use-srq -q 2` waits for ever on any device that is slower than its sender: it posts receives for the datagrams
of one queue pair and loses those of the other that find none.

`fio --ioengine=rdma --verb=send` ends or waits for ever where its receiver is late once: it sends without waiting for receive
requests and allows no retry for want of one (`rnr_retry_count` 0), so that the queue pair goes to ERR, as on hardware; then it
waits for completions that it has left in the queue.

`rdma_xclient` needs XRC and is refused; so is `mckey -l`, which asks for a queue pair that does not receive its own multicast.

`qperf ud_bw` and `ud_lat` take the LID for their peer's address, so that they reach their own host alone (VRB-UD-7), as on no RoCE
device; `uc_bw` connects so, too: refused. perftest itself refuses `-c UC -R`.

`udpong` repeats what has no answer within a millisecond, and sometimes waits for ever after a late answer, whose number it
keeps. Datagram rsockets take the peer's IP address for its GID: between hosts it must be one of the device's GIDs.
librdmacm 44's `rpoll` counts itself as waiting for ever once its time is over; a later call for a datagram that is lost then does not
look at the time any more, and uses a processor.

`librspreload.so` before the shim makes rsockets of the sockets of a program that asks for SOCK_STREAM and no more: NetPIPE's `NPtcp -i`
compares each message (`tests/system/shim/test_librspreload.py`). Python adds
SOCK_CLOEXEC, so that its sockets stay TCP; `iperf3` 3.12 asks for socket options that rsockets do not have, and ends. A program that
connects a socket of SOCK_DGRAM does not come back from that: the library takes over the socket that librdmacm itself then opens, too.

## Settings of others

| program | setting |
|---|---|
| UCX, and MPI over it | none: UD makes the connections, RC carries the data. MPICH needs a build for UCX, Open MPI `--mca pml ucx` if its order of choice is another, and `--mca osc ucx` for one-sided communication: its `osc rdma` ends in `btl ofi` at MPI_Compare_and_swap, without the preload, too. MPICH 4.0.2 reports truncated messages where a fragment ends within an element of a derived type, which MPI_Gather of large messages makes from 4 ranks on; over TCP, too, with segments of such a size. `UCX_RC_VERBS_SEG_SIZE=8201` ends fragments at multiples of 8 bytes. UCX ends in an assertion where the last 64 bits of a peer's GID are zero, as those of a uSID's address are: where hosts have such addresses, `gids: [fcbb:bb01:101::1]` in the configuration of each, its own address of plane 1 with another end, gives UCX one that `peers.template` takes for the same host |
| NCCL's own InfiniBand transport | up to 2.29 `LD_PRELOAD`, from 2.30 on `NCCL_IBVERBS_LIB=/path/libmrc-verbs.so` will do instead. 2.28.9 needs `NCCL_GIN_TYPE=2`: unset, it calls through a pointer of GPU-initiated networking that stays -1 on our device. Every collective with 2 and 4 ranks, and 1 % loss: `tests/system/nccl-real/test_ib.py`. The plugin for NCCL is the better way |
| MSCCL++ | `MSCCLPP_IBV_SO=/path/libmrc-verbs.so`. Its recipe for MRC also names the real libibverbs in `VMRC_LIBIBVERBS_SO`, and takes half of the functions from there: leave it out, or name the shim in it, or add `LD_PRELOAD`; otherwise ibv_alloc_pd fails with errno 95, and stderr says this (VRB-INT-5). GPU memory is refused. `tests/system/shim/mscclpp.c` does what its host side does, with and without atomics |

## Between hosts, and programs that Debian lacks

`ib_write_bw`, and `rping` with its data checked, run between namespaces of `mrc-fabric` while T1s, T0s with their whole plane, ports and links die, flap, lose packets and
return (`tests/system/lab/test_applications.py`); so do datagram rsockets, and MPICH over UCX, which connects by UD and compares every element.
Each program of this table runs there again and again (`tests/system/lab/test_programs.py`):

| program | shows |
|---|---|
| `ib_send_bw -c UD` | datagrams, of which some are lost; it ends by its own clock |
| `ib_write_bw -R` | WRITE, connected by rdma_cm |
| `ucmatose` | SEND, 6,000 of 64 KiB in both directions |
| `rdma_client` | connections and a message each way, while planes are dead, too |
| `rstream -T v`, `rcopy` | stream rsockets; each byte, and the copy of a file, compared |
| `riostream -T v` | memory that the peer overwrites, compared |
| `ucx_perftest -t tag_bw`, `stream_bw`, `ucp_am_bw`, `ucp_put_bw`, `ucp_get` | UCP, without any setting but shared memory (`UCX_TLS=^sysv,posix,cma`) |
| Open MPI, `--mca pml ucx --mca osc ucx` | on two and four hosts, a daemon on each, started by `plm_rsh_agent`; every element compared |
| `fi_pingpong -e rdm -c`, `-e msg -c` | libfabric, `verbs;ofi_rxm` and `verbs`, data checked |
| `qperf -cm 1 rc_bw` | RC bandwidth |
| `fio --ioengine=rdma --verb=write`, `read` | fio's engine |

`ibv_ud_pingpong`, `udaddy`, `ib_send_lat -c UD` and `fi_pingpong -e dgram` wait for the first datagram that is lost, for ever or until their time is
over, so that they are not in that table; nor is `qperf ud_lat`, which reaches its own host alone. `ucp_client_server` closes its endpoint by force
as soon as its own part is done: a message whose packets are lost then is lost on any device. `fi_pingpong`'s server has no option for its address: libfabric binds that of
`localhost`, which the shim takes for an address of its device (Linux leaves a loopback address without one), and tells it to the client. Between
hosts, `localhost` in the server's `/etc/hosts` has to be its address there.

`mckey` runs between two namespaces that are joined by two planes (`tests/system/shim/test_multicast.py`).
Across SRv6, as in the labs of `mrc-fabric`, attaching to a group is EOPNOTSUPP.

Gloo's ibverbs transport needs a build of PyTorch; `tests/system/shim/gloo_test.cc` does what it does: a queue pair per pair of ranks, one
completion queue and one waiting thread per rank, memory regions sent as messages, data by WRITE WITH IMMEDIATE, every element compared.

HPC Challenge (`hpcc` 1.5.0, Open MPI, 2 ranks) passes all its own checks over the shim (`tests/system/shim/test_hpcc.py`). Debian 12 has no OSU benchmarks, no Valkey,
no SPDK and no DAOS; its Redis 7.0 is built without RDMA; of librpma it has the library, and no program that uses it.

iSER needs no kernel: Debian's `tgt` and `libiscsi7` call librdmacm and libibverbs themselves. `tests/system/shim/test_iser.py` runs where `tgt`, which
`tools/test` does not install because it starts a service, and `libiscsi-bin` are installed: tgt 1.0.85 and libiscsi 1.19 read, and compare at the
target what was read. tgt refuses every `port=` of its option `--iser`, without the preload, too. Ceph's `librados2` and `ceph-osd` call them, too; trying that needs a cluster of a monitor, a manager and an OSD with `ms_async_rdma_device_name` set.

## rdma-core's own tests

Those of rdma-core 65 (389, Python) run over the shim with librdmacm and libibverbs of that release; `rdma link` has to be answered,
which a script can do. None fails but those below; what is skipped is hardware of one vendor, GPUs, and what the device does not offer:

| tests | what they find |
|---|---|
| on-demand paging | skipped: the device reports no support, although IBV_ACCESS_ON_DEMAND is accepted and makes an ordinary region |
| XRC, raw packets, memory windows, device memory, DMA handles, dmabuf, CQ moderation, real time, parent domains with allocators | skipped upon EOPNOTSUPP |
| shared protection domains | skipped: the context's descriptor can be duplicated, importing it is EOPNOTSUPP |
| buffers (`ibv_alloc_buf`) | pass: another domain's is EINVAL, the dmabuf of one is ENODATA |
| `test_rdmacm_async_resolve_addrinfo` | fails: `rdma_resolve_addrinfo` needs a command of newer kernels that the shim's rdma_cm does not have |

`ibv_alloc_null_mr`, which they do not test, is EOPNOTSUPP: libmrc has no region without memory.

## Memory windows

`ibv_alloc_mw` fails with EOPNOTSUPP, IBV_WR_BIND_MW, IBV_WR_LOCAL_INV and IBV_WR_SEND_WITH_INV are refused when posted, queue pairs with
their `ibv_wr_*` functions when created; `device_cap_flags` and `max_mw` report that. A WRITE of a peer is checked by libmrc as its packets
arrive, by the key in them. libmrc chooses its keys, and the low bits name the entry in its table. A window of type 2 has a key whose low
8 bits its owner chooses at each bind, and is valid on one queue pair: libmrc's table of keys would need entries of another kind, and the
check of each packet the queue pair. Windows of type 1 alone would do without, but the programs above use none.

## Names of libibverbs

`tests/system/shim/names.txt` lists the functions, to those of rdma-core 65; each is exported with its version. Of those newer than
rdma-core 44, `ibv_reg_mr_ex` (memory and buffers), `ibv_alloc_buf`, `ibv_free_buf`, `ibv_reg_buf_mr` and
`ibv_query_port_speed` work; DMA handles, dmabuf and completion counters are refused with EOPNOTSUPP. A function that is not
in the list and is given a device of ours fails with EOPNOTSUPP inside the real library, and stderr says so once.
""".splitlines()


def line(row, result):
    env = " ".join(f"{k}={v}" for k, v in row.env).replace("@COMPAT@", "libnv_mrc.so")
    command = " ".join(row.command).replace("@PROGRAMS@/", "").replace("@SHIM@", "./libmrc-verbs.so").replace("@COMPAT@", "./libnv_mrc.so")
    return f"| `{(env + ' ' if env else '') + command}` | {row.operation} | {result} |"


def table(rows_of_it):
    text = ["| command (server; the client adds the host) | shows | result |", "|---|---|---|"]
    for row in rows_of_it:
        try:
            result = rows.judge(row)
        except Skipped as why:
            result = f"not run: {why}"
        except AssertionError as failure:
            result = "FAILED"
            print(f"{row.name}: {failure}")
        print(f"{row.name}: {result}", flush=True)
        text.append(line(row, result))
    return text


def main():
    shim, compat, output = sys.argv[1:4]
    built.PATHS.update(SHIM=shim, COMPAT=compat)
    if "--check" in sys.argv:
        written = open(output, encoding="utf-8").read()
        everything = programs.ROWS + programs.MRC_ROWS
        missing = [r.name for r in everything if line(r, "").rsplit("|", 2)[0].rstrip() not in written]
        assert not missing, f"not in {output}, write it anew: {missing}"
        assert "FAILED" not in written
        return
    packages = ("ibverbs-utils", "perftest", "ucx-utils", "python3-pyverbs", "infiniband-diags", "hwloc-nox", "openmpi-bin", "mpich")
    text = ["# Verbs programs over the shim", "",
            "Generated by `tests/system/shim/compat.py`; the rows are in `tests/system/shim/programs.py`, and each is a test.",
            "Two processes on one host, the default device of four planes on loopback.", "",
            "Versions: " + ", ".join(f"{p} {rows.version(p)}" for p in packages) + ".", "", *table(programs.ROWS), *MRC_SECTION,
            *table(programs.MRC_ROWS), "", *NOTES]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
