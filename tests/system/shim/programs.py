"""The programs that run over the shim, what is asked of them, and what is expected: the source of the tests and of
tests/compat.md.

Each row of ROWS is a program of a Debian package, unmodified; of MRC_ROWS, tests/system/shim/mrc/program.c. `pair` programs run
twice, as server and as client, on the default device. A row with `refusal` is one that verbs-conformly fails; the text must appear.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    name: str  # of the test, unique
    operation: str  # what it shows, for people
    command: tuple
    pair: bool = True
    env: tuple = ()
    output: str = ""  # must appear in the client's output
    refusal: str = ""  # must appear in either's output, and the client must fail
    slow_peer: float = 0  # the client starts so many seconds late
    rdma_cm: bool = False  # it connects by rdma_cm, by the address of the host
    needs: tuple = ()  # a program that it starts, and the package, which only the long tests install

    @property
    def program(self):
        return self.command[0]


def row(name, operation, command, **more):
    return Row(name, operation, tuple(command.split()), **more)


# UCX as it comes, but for its shared memory, which two processes on one host would use.
NETWORK = (("UCX_TLS", "^sysv,posix,cma"),)
MPI = NETWORK + (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))
# Debian's MPICH cannot unpack a part of an element: fragments have to end where elements do, over TCP as well.
MPICH = NETWORK + (("UCX_RC_VERBS_SEG_SIZE", "8201"),)
LOSS = (("MRC_FAULT", "seed=11;loss=0.01"),)
# For programs that end without a last word to each other: who is done first answers until the other has all it waits for.
STAYS = (("MRC_LINGER_QUIET_MS", "1000"), ("MRC_LINGER_MS", "10000"))
SMALL = "-n 300"

ROWS = (
    row("devices", "device list", "ibv_devices", pair=False, output="mrc0"),
    row("devinfo", "device, port and GID queries", "ibv_devinfo -v", pair=False, output="PORT_ACTIVE"),
    row("rc_pingpong", "SEND, RC", "ibv_rc_pingpong -g 3 -c"),
    row("rc_pingpong_events", "SEND, RC, completion events", "ibv_rc_pingpong -g 3 -e -c"),
    row("rc_pingpong_large", "SEND of 1 MB, RC", "ibv_rc_pingpong -g 3 -s 1000000 -n 100 -c"),
    row("rc_pingpong_new_send", "SEND by ibv_wr_*", "ibv_rc_pingpong -g 3 -N"),
    row("rc_pingpong_gid0", "SEND, RC, IPv6 GID", "ibv_rc_pingpong -g 0"),
    row("rc_pingpong_lid", "SEND, RC, addressed by LID", "ibv_rc_pingpong", refusal="Failed to modify QP to RTR"),
    row("uc_pingpong", "SEND, UC", "ibv_uc_pingpong -g 3 -c"),
    row("uc_pingpong_events", "SEND, UC, completion events", "ibv_uc_pingpong -g 3 -e -c"),
    row("srq_pingpong", "SEND, 16 QPs on a shared receive queue", "ibv_srq_pingpong -g 3 -c"),
    row("srq_pingpong_events", "the same with completion events", "ibv_srq_pingpong -g 3 -e -c"),
    row("xsrq_pingpong", "XRC", "ibv_xsrq_pingpong -g 3", pair=False, refusal="Couldn't Open the XRC Domain"),
    row("ud_pingpong", "SEND, UD", "ibv_ud_pingpong -g 3 -c"),
    row("ud_pingpong_events", "SEND, UD, completion events", "ibv_ud_pingpong -g 3 -e -c"),
    row("write_bw", "WRITE", f"ib_write_bw {SMALL}"),
    row("write_bw_qps", "WRITE, 8 QPs", f"ib_write_bw -q 8 {SMALL}"),
    row("write_bw_list", "WRITE, lists of 8", "ib_write_bw -l 8 -n 304"),
    row("write_bw_both", "WRITE, both directions", f"ib_write_bw -b {SMALL}"),
    row("write_bw_duration", "WRITE for two seconds", "ib_write_bw -D 2"),
    row("write_bw_sizes", "WRITE, 2 bytes to 8 MiB", "ib_write_bw -a -n 20"),
    row("write_bw_ipv6", "WRITE, --ipv6", f"ib_write_bw --ipv6 {SMALL}"),
    row("write_bw_named", "WRITE, device and GID index named", f"ib_write_bw -d mrc0 -x 3 {SMALL}"),
    row("write_bw_inline", "WRITE, inline", f"ib_write_bw -I 64 -s 64 {SMALL}"),
    row("write_bw_uc", "WRITE, UC", f"ib_write_bw -c UC {SMALL}"),
    row("write_lat", "WRITE, latency", f"ib_write_lat {SMALL}"),
    row("send_bw", "SEND", f"ib_send_bw {SMALL}"),
    row("send_bw_events", "SEND, completion events", f"ib_send_bw -e {SMALL}"),
    row("send_bw_both", "SEND, both directions", f"ib_send_bw -b {SMALL}"),
    row("send_bw_sizes", "SEND, 2 bytes to 8 MiB", "ib_send_bw -a -n 20"),
    row("send_bw_qps", "SEND, 4 QPs", f"ib_send_bw -q 4 {SMALL}"),
    row("send_bw_small_queue", "SEND, receive queue of 8", "ib_send_bw -r 8 -s 4096 -n 1000"),
    row("send_bw_srq", "SEND, shared receive queue", f"ib_send_bw --use-srq {SMALL}"),
    row("send_bw_uc", "SEND, UC", f"ib_send_bw -c UC {SMALL}"),
    row("send_bw_ud", "SEND, UD", f"ib_send_bw -c UD -r 512 -s 1024 {SMALL}"),
    # One queue pair: perftest posts no more receives to a shared queue than one queue pair sends datagrams, and waits for
    # those of the others that found none.
    row("send_bw_ud_srq", "SEND, UD, shared receive queue", f"ib_send_bw -c UD --use-srq -r 512 -s 1024 {SMALL}"),
    row("send_lat_ud", "SEND, UD, latency", f"ib_send_lat -c UD {SMALL}"),
    row("send_lat", "SEND, latency", f"ib_send_lat {SMALL}"),
    row("send_lat_events", "SEND, latency, completion events", f"ib_send_lat -e {SMALL}"),
    row("read_bw", "READ", f"ib_read_bw {SMALL}"),
    row("read_bw_both", "READ, both directions", f"ib_read_bw -b {SMALL}"),
    row("read_bw_sizes", "READ, 2 bytes to 8 MiB", "ib_read_bw -a -n 20"),
    row("read_lat", "READ, latency", f"ib_read_lat {SMALL}"),
    row("atomic_bw", "fetch-add", f"ib_atomic_bw {SMALL}"),
    row("atomic_bw_swap", "compare-swap", f"ib_atomic_bw -A CMP_AND_SWAP {SMALL}"),
    row("atomic_lat", "fetch-add, latency", f"ib_atomic_lat {SMALL}"),
    row("ucx_put", "UCT rc_verbs, put", "ucx_perftest -d mrc0:1 -x rc_verbs -t put_lat -D short -s 8 -n 300 -w 10"),
    row("ucx_put_bw", "UCT rc_verbs, put, zero copy", "ucx_perftest -d mrc0:1 -x rc_verbs -t put_bw -D zcopy -s 65536 -n 300 -w 10"),
    row("ucx_get", "UCT rc_verbs, get", "ucx_perftest -d mrc0:1 -x rc_verbs -t get -D zcopy -s 65536 -n 300 -w 10"),
    row("ucx_am", "UCT rc_verbs, active messages", "ucx_perftest -d mrc0:1 -x rc_verbs -t am_lat -D short -s 8 -n 300 -w 10"),
    row("ucx_am_bw", "UCT rc_verbs, active messages, buffered copy", "ucx_perftest -d mrc0:1 -x rc_verbs -t am_bw -D bcopy -s 2048 -n 300 -w 10"),
    row("ucx_add", "UCT rc_verbs, atomic add", "ucx_perftest -d mrc0:1 -x rc_verbs -t add_mr -s 8 -n 300 -w 10"),
    row("ucx_fadd", "UCT rc_verbs, fetch-add", "ucx_perftest -d mrc0:1 -x rc_verbs -t fadd -s 8 -n 300 -w 10"),
    row("ucx_cswap", "UCT rc_verbs, compare-swap", "ucx_perftest -d mrc0:1 -x rc_verbs -t cswap -s 8 -n 300 -w 10"),
    row("ucx_ud_am", "UCT ud_verbs, active messages", "ucx_perftest -d mrc0:1 -x ud_verbs -t am_lat -D short -s 8 -n 300 -w 10"),
    row("ucp_default", "UCP without any setting, tagged messages", "ucx_perftest -t tag_lat -s 8 -n 300 -w 10"),
    row("ucp_tag", "UCP, tagged messages", "ucx_perftest -t tag_bw -s 100000 -n 100 -w 10", env=NETWORK),
    row("ucp_stream", "UCP, streams", "ucx_perftest -t stream_lat -s 4096 -n 300 -w 10", env=NETWORK),
    row("ucp_am", "UCP, active messages", "ucx_perftest -t ucp_am_lat -s 4096 -n 300 -w 10", env=NETWORK),
    row("ucp_put", "UCP, put", "ucx_perftest -t ucp_put_lat -s 65536 -n 100 -w 10", env=NETWORK),
    row("ucp_get", "UCP, get", "ucx_perftest -t ucp_get -s 65536 -n 100 -w 10", env=NETWORK),
    row("write_bw_old_post", "WRITE by ibv_post_send", f"ib_write_bw --use_old_post_send {SMALL}"),
    row("write_bw_warm", "WRITE, warmed up, a region and a completion for each request of 4 QPs",
        f"ib_write_bw -q 4 --mr_per_qp --perform_warm_up -Q 1 --report_gbits {SMALL}"),
    row("write_bw_strict", "WRITE without relaxed ordering, timeout 20, tclass, small MTU",
        f"ib_write_bw --disable_pcie_relaxed -u 20 --tclass=96 -m 1024 {SMALL}"),
    row("write_bw_counters", "WRITE, port counters from sysfs", f"ib_write_bw -W counters/port_xmit_packets {SMALL}",
        output="port_xmit_packets"),
    row("send_bw_post_lists", "SEND, lists of 8 on both sides", "ib_send_bw -l 8 --recv_post_list=8 -n 304"),
    row("write_bw_rdma_cm", "WRITE, connected by rdma_cm", f"ib_write_bw -R {SMALL}", rdma_cm=True),
    row("send_lat_rdma_cm", "SEND, latency, connected by rdma_cm", f"ib_send_lat -R {SMALL}", rdma_cm=True),
    row("ibstat", "device and port by libibumad", "ibstat mrc0", pair=False, output="State: Active"),
    row("hwloc", "the device in the host's topology", "lstopo-no-graphics --of console --whole-io", pair=False, output="mrc0"),
    row("mpi_openmpi", "Open MPI over UCX, 2 ranks: ping-pong, every collective, one-sided; every element checked",
        "mpirun.openmpi --oversubscribe -np 2 --mca pml ucx --mca osc ucx --mca btl ^openib @PROGRAMS@/mpi_check.openmpi",
        pair=False, env=MPI, output="2 ranks, 0 wrong elements"),
    row("mpi_openmpi_four", "the same with 4 ranks",
        "mpirun.openmpi --oversubscribe -np 4 --mca pml ucx --mca osc ucx --mca btl ^openib @PROGRAMS@/mpi_check.openmpi",
        pair=False, env=MPI, output="4 ranks, 0 wrong elements"),
    row("mpi_mpich", "MPICH over UCX, 2 ranks: the same", "mpirun.mpich -np 2 @PROGRAMS@/mpi_check.mpich",
        pair=False, env=MPICH, output="2 ranks, 0 wrong elements"),
    row("mpi_mpich_four", "the same with 4 ranks", "mpirun.mpich -np 4 @PROGRAMS@/mpi_check.mpich", pair=False, env=MPICH,
        output="4 ranks, 0 wrong elements"),
    row("netpipe_openmpi", "NetPIPE over Open MPI, messages of 1 byte to 1 MiB, each compared",
        "mpirun.openmpi --oversubscribe -np 2 --mca pml ucx --mca osc ucx --mca btl ^openib NPopenmpi -i -n 20 -u 1048576 -o /dev/null",
        pair=False, env=MPI, output="Integrity check passed", needs=("NPopenmpi", "netpipe-openmpi")),
    row("netpipe_mpich", "the same over MPICH", "mpirun.mpich -np 2 NPmpich2 -i -n 20 -u 1048576 -o /dev/null",
        pair=False, env=MPICH, output="Integrity check passed", needs=("NPmpich2", "netpipe-mpich2")),
    row("late_client", "SEND, the client two seconds late", "ib_send_bw -n 200", slow_peer=2.0),
    row("loss_write", "WRITE, 1 % loss", f"ib_write_bw {SMALL}", env=LOSS),
    row("loss_send", "SEND, 1 % loss, data checked", "ibv_rc_pingpong -g 3 -s 20000 -n 300 -c", env=LOSS + STAYS),
    row("loss_read", "READ, 1 % loss", f"ib_read_bw {SMALL}", env=LOSS),
    row("loss_atomic", "fetch-add, 1 % loss", f"ib_atomic_bw {SMALL}", env=LOSS),
    row("loss_ucp", "UCP, connected by UD, 1 % loss", "ucx_perftest -t tag_lat -s 4096 -n 300 -w 10", env=NETWORK + LOSS),
    row("dead_plane_ud", "UCT ud_verbs, a plane dead", "ucx_perftest -d mrc0:1 -x ud_verbs -t am_lat -D short -s 8 -n 300 -w 10",
        env=(("MRC_FAULT", "seed=5;plane=2:blackhole"),)),
    row("dead_plane", "SEND, a plane dead, data checked", "ibv_rc_pingpong -g 3 -s 100000 -n 300 -c", env=(("MRC_FAULT", "seed=5;plane=2:blackhole"),)),
    row("dying_plane", "WRITE for three seconds, a plane dies after one", "ib_write_bw -D 3", env=(("MRC_FAULT", "plane=3:blackhole@1s-60s"),)),
    row("other_provider", "SEND over the library's vendor-style name", f"ib_send_bw {SMALL}", env=(("MRC_PROVIDER", "@COMPAT@"),)),
)

# One program for mrc.h; @PROGRAMS@ is the folder of its builds, @SHIM@ the preloaded file, @COMPAT@ that of libnv_mrc.so.
MRC_ROWS = (
    row("mrc_c_linked", "C, linked with libmrc", "@PROGRAMS@/mrc_c_linked linked", output="240 immediates"),
    row("mrc_cxx_linked", "C++, linked with libmrc", "@PROGRAMS@/mrc_cxx_linked linked", output="240 immediates"),
    row("mrc_c_libmrc", "C, dlopen by name", "@PROGRAMS@/mrc_c_opened libmrc.so", output="240 immediates"),
    row("mrc_c_libnv_mrc", "C, dlopen by a vendor's name", "@PROGRAMS@/mrc_c_opened libnv_mrc.so", output="240 immediates"),
    row("mrc_c_lib_mrc", "C, dlopen by an older name", "@PROGRAMS@/mrc_c_opened lib_mrc.so", output="240 immediates"),
    row("mrc_cxx_libmrc", "C++, dlopen by name and version", "@PROGRAMS@/mrc_cxx_opened libmrc.so.1", output="240 immediates"),
    row("mrc_cxx_libnv_mrc", "C++, dlopen by a vendor's name", "@PROGRAMS@/mrc_cxx_opened libnv_mrc.so", output="240 immediates"),
    row("mrc_cxx_lib_mrc", "C++, dlopen by an older name", "@PROGRAMS@/mrc_cxx_opened lib_mrc.so", output="240 immediates"),
    row("mrc_c_shim", "C, dlsym in the shim's file", "@PROGRAMS@/mrc_c_opened @SHIM@", output="240 immediates"),
    row("mrc_cxx_shim", "C++, dlsym in the shim's file", "@PROGRAMS@/mrc_cxx_opened @SHIM@", output="240 immediates"),
    row("mrc_c_path", "C, dlopen by path", "@PROGRAMS@/mrc_c_opened @COMPAT@", output="240 immediates"),
    row("mrc_loss", "C, linked, 1 % loss", "@PROGRAMS@/mrc_c_linked linked", env=LOSS, output="240 immediates"),
)
