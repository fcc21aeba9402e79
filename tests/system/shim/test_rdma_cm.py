"""Programs that connect by rdma_cm, unmodified, over the shim's emulation of the kernel's device. spec/rdma_cm.md"""
import os
import random
import re
import sys

import files
import ports
import session
from limits import limit
from process import run

DATAGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "datagram_rsockets.py")
DEVICE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rdma_cm_device.py")
RATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/dev/cm_rate.py")


ROUND_S = limit(3)
UDADDY_PORT = 7174  # it has no option for another


def pair(server, client, forever=False, tcp=False, output="", port=None, extra=()):
    """Server, then client as soon as the server's port is bound; PORT in both commands is its number. `forever`: the
    server does not end by itself; `tcp`: it waits on TCP first."""
    port = port or ports.free()
    env, ready = session.environment(extra), ports.listening if tcp else ports.bound
    first, second = session.run_both(server.replace("PORT", str(port)).split(), client.replace("PORT", str(port)).split(),
                                     lambda: ready(port), env, env, forever=forever)
    both = f"{second}\n{first}"
    assert second.code == 0 and output in second.out, both
    assert forever or first.code == 0, both
    for complaint in ("Sanitizer", "runtime error:"):
        assert complaint not in both, both


def rping(server, client, output):
    """Its main thread closes the event channel as soon as the last event is acknowledged. When its other thread has not
    come back to wait by then, on hardware as here, it finds no descriptor and ends the process with -1. Run again then."""
    for left in reversed(range(5)):
        try:
            return pair(server, client, output=output)
        except AssertionError as failure:
            if left == 0 or "rdma_get_cm_event: Bad file descriptor" not in str(failure):
                raise


def test_rping():
    rping("rping -s -v -V -C 10 -S 1000 -a 127.0.0.1 -p PORT", "rping -c -v -V -C 10 -S 1000 -a 127.0.0.1 -p PORT", "rdma-ping-9")


def test_rping_ipv6():
    rping("rping -s -C 3 -a ::1 -p PORT", "rping -c -v -C 3 -a ::1 -p PORT", "rdma-ping-2")


def test_ucmatose_eight_connections():
    pair("ucmatose -c 8 -p PORT", "ucmatose -c 8 -s 127.0.0.1 -p PORT", output="return status 0")


def test_cmtime_a_hundred_connections():
    """Its server does not end."""
    pair("cmtime -b 127.0.0.1 -p PORT", "cmtime -s 127.0.0.1 -c 100 -p PORT", forever=True, output="disconnect")


def test_udaddy_four_ids_of_datagrams():
    """[CM-SIDR-1]"""
    pair("udaddy -c 4 -C 20", "udaddy -c 4 -C 20 -s 127.0.0.1", output="return status 0", port=UDADDY_PORT)


def test_udaddy_ipv6():
    """[CM-SIDR-1]"""
    pair("udaddy -b ::1", "udaddy -s ::1", output="return status 0", port=UDADDY_PORT)


def test_no_listener_for_datagrams_is_unreachable():
    """[CM-SIDR-2]"""
    process = session.run(["udaddy", "-s", "127.0.0.1"])
    assert process.code != 0 and "RDMA_CM_EVENT_UNREACHABLE, error: 1" in process.out, process


def test_ids_that_need_no_event_channel():
    """rdma_migrate_id, and events of ids that are called one after another"""
    pair("rdma_server -p PORT", "rdma_client -s 127.0.0.1 -p PORT", output="end 0")


def test_rsockets():
    for options in ("-T v", "-T b"):  # with "-T a" the program takes its peer's end for an error, if that comes early
        command = f"rstream {options} -S 20000 -C 50 -p PORT"
        pair(command, f"{command} -s 127.0.0.1", output="custom")


def until_it_ends(server, client):
    """A pair of programs whose server does not end, and whose client may wait for ever by its own fault: run again then. The
    client's table has a row for a measurement that ended."""
    env = session.environment()
    for _ in range(5):
        port = str(ports.free())
        with session.Program(server.replace("PORT", port).split(), env) as first:
            session.until_ready(lambda: ports.bound(int(port)), first)
            with session.Program(client.replace("PORT", port).split(), env) as second:
                ended = second.ends_within(ROUND_S)
        both = f"{second}\n{first}"
        assert "Sanitizer" not in both and "runtime error:" not in both, both
        if ended:
            assert second.code == 0 and re.search(r"^custom .*s +[0-9.]+ +[0-9.]+$", second.out, re.MULTILINE), both
            return
    raise AssertionError(f"five times without an end: {both}")


def datagram_rsockets(address, extra=()):
    program = f"{sys.executable} -B {DATAGRAMS}"
    pair(f"{program} server {address} PORT", f"{program} client {address} PORT", forever=True, output="56 datagrams came back", extra=extra)


def test_datagram_rsockets():
    """[VRB-UD-7] [CM-DEV-4]"""
    datagram_rsockets("127.0.0.1")


def test_datagram_rsockets_over_ipv6():
    """[VRB-UD-7] [CM-DEV-4]"""
    datagram_rsockets("::1")


def test_datagram_rsockets_over_losses():
    """[VRB-UD-7]"""
    datagram_rsockets("127.0.0.1", (("MRC_FAULT", "seed=11;loss=0.02"),))


def test_udpong():
    """It sends again what has no answer within a millisecond, keeps the number of a late answer for its next message, and then no
    answer has the number that it waits for."""
    for way in ("-T b", "-T n", "-T a"):
        until_it_ends(f"udpong -b 127.0.0.1 -p PORT {way}", f"udpong -s 127.0.0.1 -p PORT {way} -T e -C 5 -S 1000")


def test_qperf_of_datagrams():
    for test in ("ud_lat", "ud_bw"):
        for connected in (0, 1):
            pair("qperf -lp PORT", f"qperf -lp PORT -cm {connected} 127.0.0.1 -t 1 {test}", forever=True, tcp=True, output=test)


def riostream(extra):
    """It waits in memory for the last byte of the last of several writes to one place, and then compares what came before."""
    command = "riostream -T b -T v -S 20000 -C 5 -I 20 -p PORT"
    pair(command, f"{command} -s 127.0.0.1", output="custom", extra=extra)


def test_riostream():
    """[VRB-RSP-13]"""
    riostream(())


def test_riostream_over_a_plane_that_is_late():
    """[VRB-RSP-13]"""
    riostream((("MRC_FAULT", "plane=1:delay=500us"), ("MRC_BURST_PACKETS", "2")))


def test_addresses_of_infiniband_are_refused_by_name():
    """[CM-DEV-3]"""
    device("infiniband")
    program = session.run(["ucmatose", "-f", "gid", "-s", "::1"])
    assert program.code != 0 and "failure getting addr: Invalid argument" in program.out, program


def test_qperf():
    pair("qperf -lp PORT", "qperf -lp PORT -cm 1 127.0.0.1 -t 1 rc_bw", forever=True, tcp=True, output="rc_bw")


def test_libfabric_messages():
    pair("fi_pingpong -p verbs -e msg -I 20 -S 4096 -B PORT", "fi_pingpong -p verbs -e msg -I 20 -S 4096 -P PORT 127.0.0.1", tcp=True, output="4k")


def libfabric(provider, kind, size, output):
    both = f"fi_pingpong -p {provider} -e {kind} -c -I 20 -S {size}"
    pair(f"{both} -B PORT", f"{both} -P PORT 127.0.0.1", tcp=True, output=output)


def test_libfabric_reliable_datagrams():
    for size, output in ((1024, "1k"), (1 << 20, "1m")):
        libfabric("verbs;ofi_rxm", "rdm", size, output)


def test_libfabric_datagrams():
    libfabric("verbs", "dgram", 1024, "1k")
    libfabric("verbs;ofi_rxd", "rdm", 1024, "1k")


def perftest(program):
    both = f"{program} -R -n 200 -p PORT"
    pair(both, f"{both} 127.0.0.1", output="#bytes")


def test_writes_of_perftest():
    perftest("ib_write_bw -q 4")
    perftest("ib_write_lat")


def test_sends_of_perftest():
    for program in ("ib_send_bw", "ib_send_lat", "ib_send_bw -c UD -r 512 -s 1024", "ib_send_lat -c UD"):
        perftest(program)


def test_reads_and_atomics_of_perftest():
    for program in ("ib_read_bw", "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat"):
        perftest(program)


def test_rcopy_copies_a_file():
    source, copy = files.at("source"), files.at("copy")
    data = random.Random(2).randbytes(3000000)
    with open(source, "wb") as out:
        out.write(data)
    pair("rcopy -p PORT", f"rcopy {source} 127.0.0.1:{copy} -p PORT", forever=True)
    with open(copy, "rb") as content:
        assert content.read() == data


def test_ucx_client_and_server():
    """The example of UCX's package, which meets its peer by rdma_cm."""
    program = "@PROGRAMS@/ucp_client_server"
    for kind in ("stream", "tag", "am"):
        pair(f"{program} -p PORT -c {kind}", f"{program} -a 127.0.0.1 -p PORT -c {kind}", forever=True, extra=(("UCX_TLS", "^sysv,posix,cma"),))


def test_libfabric_lists_the_device():
    process = session.run(["fi_info", "-p", "verbs", "-t", "FI_EP_MSG"])
    assert "domain: mrc0" in process.out and "FI_PROTO_RDMA_CM_IB_RC" in process.out, process


def test_no_listener_is_a_rejection():
    """[CM-GONE-1] Not with rping, two of whose threads call exit() then, which may crash in the C library."""
    process = session.run(["ucmatose", "-s", "127.0.0.1", "-p", ports.free()])
    assert process.code != 0 and "REJECTED" in process.out, process


def test_peer_that_is_killed_is_a_disconnection():
    """[CM-GONE-1]"""
    port = ports.free()
    env = session.environment()
    with session.Program(["stdbuf", "-oL", "rping", "-s", "-v", "-a", "127.0.0.1", "-p", port], env) as server:
        session.until_ready(lambda: ports.bound(port), server)
        with session.Program(["rping", "-c", "-a", "127.0.0.1", "-p", port], env):
            server.out_until("rdma-ping-3")
        server.out_until("DISCONNECT EVENT")


def device(check):
    process = session.run([sys.executable, "-B", DEVICE, check])
    assert process.code == 0 and "passed" in process.out, process


def test_device_is_a_character_device_with_commands():
    """[CM-FD-1] [CM-DEV-2] [CM-DEV-3] [CM-DEV-4]"""
    device("commands")


def test_multicast_memberships_of_the_device():
    """[CM-MC-1]"""
    device("multicast")


def test_many_clients_that_come_at_once_are_all_answered():
    """[CM-LIM-4]"""
    device("burst")


def test_ports_are_shared_by_agreement_and_listeners_have_them_alone():
    """[CM-PORT-1] [CM-PORT-2] [CM-PORT-3]"""
    device("ports")


def test_an_address_without_a_route_fails_at_once():
    """[CM-DEV-6]"""
    device("routes")


def test_an_accept_that_fails_refuses_the_client():
    """[CM-DEV-5]"""
    device("accept")


def test_commands_are_refused_as_by_the_kernel():
    """[CM-DEV-3]"""
    device("refusals")


def test_data_before_the_last_message_establishes():
    """[CM-DEV-3]"""
    device("notify")


def test_ids_that_migrate_take_their_events_along():
    """[CM-DEV-3]"""
    device("migration")


def test_wrong_pointers_are_faults_and_not_crashes():
    """[CM-FD-3]"""
    device("pointers")


def test_commands_that_succeed_leave_errno():
    """[CM-FD-1]"""
    device("errno")


def test_a_second_server_says_that_the_port_is_in_use():
    """[CM-FD-1] It closes what it has opened, by commands that succeed, before it looks at errno."""
    port = ports.free()
    env = session.environment()
    with session.Program(["rdma_server", "-p", port], env) as first:
        session.until_ready(lambda: ports.bound(port), first)
        second = session.run(["rdma_server", "-p", port])
        assert "Address already in use" in str(second), second


def test_descriptor_is_duplicated_and_closed():
    """[CM-FD-1]"""
    device("descriptor")


def test_a_child_of_fork_opens_its_own():
    """[CM-FD-1]"""
    device("child")


def test_ids_go_with_the_last_descriptor():
    """[CM-FD-1]"""
    device("close")


def test_a_thread_that_waits_keeps_the_channel():
    """[CM-FD-2]"""
    device("waiting")


def test_connects_beside_a_thousand_open_ones():
    """[CM-LIM-1] None of them is lost, one after another and many at a time. How fast they are is printed, and not judged here."""
    process = session.run([sys.executable, "-B", RATE])
    assert process.code == 0, process
    assert re.search(r"^1000 open; one connect: median \d+ us, .*\n.*, \d+ connects/s with 32 at a time$", process.out, re.MULTILINE), process


def test_the_rate_tool_asks_for_the_preload():
    """Its server, which fails, must not leave it waiting."""
    done = run([sys.executable, "-B", RATE], code=1)
    assert "start with LD_PRELOAD" in done.stderr, done


def test_no_device_when_none_is_shown():
    process = session.run(["rping", "-c", "-C", "1", "-a", "127.0.0.1"], (("MRC_SHIM_DEVICES", "none"),))
    assert process.code != 0 and "No RDMA devices" in process.out, process
