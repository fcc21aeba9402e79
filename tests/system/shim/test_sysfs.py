"""Folders and files of /sys/class/infiniband for programs that read them themselves."""
import os
import sys

import files
import session

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = "/sys/class/infiniband/mrc0"


def output(command, extra=()):
    process = session.run(command, extra)
    assert process.code == 0, process
    return process.out


def test_device_is_listed():
    assert "mrc0" in output(["ls", "/sys/class/infiniband"]).split()
    assert "mrc0" in output(["ls", "/sys/class/infiniband/"]).split()
    assert "uverbs900" in output(["ls", "/sys/class/infiniband_verbs"]).split()
    assert output(["cat", "/sys/class/infiniband_verbs/uverbs900/ibdev"]) == "mrc0\n"
    assert "mrc0" in output(["bash", "-c", "cd /; echo /sys/class/infiniband/*"])


def test_links_lead_to_folders_that_exist():
    """realpath of coreutils follows links and looks at every folder on the way, ls at the folder above."""
    real = "/sys/devices/infiniband/mrc0"
    assert output(["realpath", DEVICE, DEVICE + "/device", DEVICE + "/ports/1"]).split() == [real, real + "/device", real + "/ports/1"]
    assert output(["realpath", "/sys/class/infiniband_verbs/uverbs900"]) == "/sys/devices/infiniband_verbs/uverbs900\n"
    assert output(["ls", "/sys/devices/infiniband"]) == "mrc0\n"
    assert output(["ls", real]) == output(["ls", DEVICE + "/"])
    for folder in ("/sys/class/infiniband", "/sys/class/infiniband_verbs"):
        assert "cannot access" not in output(["ls", "-la", folder])
        assert output(["realpath", folder + "/.."]) == "/sys/class\n"


def test_no_folder_without_devices():
    bare = session.run(["ls", "/sys/class/infiniband"], preload=())
    none = session.run(["ls", "/sys/class/infiniband"], (("MRC_SHIM_DEVICES", "none"),))
    assert (bare.out, bare.code) == (none.out, none.code), none


def test_every_listed_name_exists():
    """All of the tree as find sees it, each file read. Empty entries of the GID table have no type, as in the kernel."""
    files = output(["find", "-L", DEVICE, "-type", "f"]).split()
    assert len(files) > 60 and DEVICE + "/ports/1/gids/3" in files, files
    assert {f.rsplit("/", 1)[1] for f in files if "/ports/1/counters/" in f} >= {"port_xmit_data", "port_rcv_packets"}
    reader = "import sys\nfor name in sys.argv[1:]: print(name, repr(open(name).read()))"
    lines = output([sys.executable, "-c", reader, *files]).splitlines()
    assert len(lines) == len(files) and all(line.endswith("\\n'") for line in lines), lines


def test_folders_by_every_call():
    """[VRB-SYS-3]"""
    out = output(["/usr/bin/python3", "-B", os.path.join(HERE, "sysfs_calls.py")])
    assert out == "ok\n", out


def test_counters_count():
    """[VRB-SYS-4]"""
    out = output(["/usr/bin/python3", "-B", os.path.join(HERE, "sysfs_counters.py")])
    assert out.endswith("ok\n"), out


def test_rate_is_the_configured_one():
    for rate, text in (("400", "400 Gb/sec (4X NDR)\n"), ("25", "25 Gb/sec (4X QDR)\n"), ("0", "100 Gb/sec (4X EDR)\n")):
        assert output(["cat", DEVICE + "/ports/1/rate"], (("MRC_LINE_RATE_GBPS", rate),)) == text


def test_gids_name_their_interface():
    assert output(["cat", DEVICE + "/ports/1/gid_attrs/ndevs/3"]) == "lo\n"
    script = """set -e
    ip link set lo up; ip link add mrc-a type veth peer name mrc-b; ip addr add 10.77.0.1/24 dev mrc-a
    ip addr add 10.77.1.1/24 dev mrc-b; ip link set mrc-a up; ip link set mrc-b up
    printf '%s\\n' 'devices:' '  - {name: mrc0, planes: [{address: 10.77.1.1}, {address: 10.77.0.1}]}' > "$1"/two.yaml
    export LD_PRELOAD="$2" MRC_CONFIG="$1"/two.yaml
    cat /sys/class/infiniband/mrc0/ports/1/gid_attrs/ndevs/3 /sys/class/infiniband/mrc0/device/numa_node"""
    preload = session.environment()["LD_PRELOAD"]
    namespace = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    process = session.run([*namespace, "sh", "-c", script, "sh", files.at(), preload], preload=())
    assert process.out == "mrc-b\n-1\n" and process.code == 0, process


def test_ibstat():
    assert output(["ibstat", "-l"]).split() == ["mrc0"]
    out = output(["ibstat", "mrc0"])
    for wanted in ("CA 'mrc0'", "CA type: MRC_SOFT", "State: Active", "Physical state: LinkUp", "Rate: 100", "Link layer: Ethernet"):
        assert wanted in out, (wanted, out)


def test_hwloc():
    out = output(["lstopo-no-graphics", "--of", "console", "--whole-io", "-v"])
    assert "mrc0" in out and "OpenFabrics" in out, out


def test_perftest_reports_port_counters():
    server, client = session.run_pair(["ib_write_bw", "-n", "300", "-W", "counters/port_xmit_packets,counters/port_rcv_packets"])
    assert (client.code, server.code) == (0, 0), f"{client}\n{server}"
    assert "port_xmit_packets" in client.out, client
