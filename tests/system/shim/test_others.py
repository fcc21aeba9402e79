"""Programs without verbs do not notice the preload; what concerns more than one row of programs.py."""
import os
import re
import sys

import ports
import session


def same(command, extra=()):
    bare = session.run(command, extra, preload=())
    preloaded = session.run(command, extra)
    assert bare.out == preloaded.out and bare.code == preloaded.code, f"{bare}\n{preloaded}"


def test_bash_notices_nothing():
    same(["bash", "-c", "echo a | tr a b; x=$(ls /); echo ${#x}; cat /sys/class/infiniband/none/fw_ver; (exit 3)"])


def test_python_notices_nothing():
    code = "import os, subprocess, threading; print(len(threading.enumerate()), os.listdir('/proc/self/task').__len__());" \
           "pid = os.fork()\nif pid == 0: os._exit(0)\nprint(os.waitpid(pid, 0)[1], subprocess.call(['true']))"
    same([sys.executable, "-c", code])


def test_ssh_notices_nothing():
    same(["ssh", "-V"] if os.path.exists("/usr/bin/ssh") else ["openssl", "version"])


def test_tools_for_files_and_networks_notice_nothing():
    same(["find", "/sys/class/net", "/dev/shm", "-maxdepth", "1"])
    same(["stat", "-c", "%F %t %T %a", "/dev/null", "/dev/infiniband", "/sys/class", "/sys/class/net/lo/mtu"])
    same(["sh", "-c", "cd /sys/class/net/lo && pwd -P && cat mtu operstate && readlink -f ../lo && ls"])
    same(["tar", "-cf", "/dev/null", "--totals=USR1", "-C", os.path.dirname(os.path.abspath(__file__)), "."])
    same(["ip", "-o", "link", "show", "dev", "lo"])
    same(["git", "--version"])


def transports_of_ucx(preload=None):
    env = session.environment((("UCX_LOG_LEVEL", "info"),), preload)
    port = ports.free()
    server, client = session.run_both(["ucx_perftest", "-p", port],
                                      ["ucx_perftest", "-t", "tag_lat", "-n", "100", "-w", "10", "-p", port, "localhost"],
                                      lambda: ports.listening(port), env, env)
    assert (client.code, server.code) == (0, 0), f"{client}\n{server}"
    return re.findall(r"ep_cfg\[\d+\]: .*tag\((\S+)", client.out)


def test_ucx_sends_by_shared_memory_as_before():
    """The first transport of an endpoint carries the messages; others that the device adds wait for its failure."""
    bare, preloaded = transports_of_ucx(preload=()), transports_of_ucx()
    assert bare and bare == preloaded, (bare, preloaded)


def test_no_library_is_loaded_before_devices_are_asked_for():
    """[VRB-INT-2]"""
    process = session.run(["cat", "/proc/self/maps"])
    assert "libmrc-verbs" in process.out and "libmrc.so" not in process.out, process.out


def test_no_devices_when_none_are_wanted():
    process = session.run(["ibv_devices"], (("MRC_SHIM_DEVICES", "none"),))
    assert "mrc0" not in process.out and process.code == 0, process


def test_an_unknown_name_of_a_device_is_reported():
    process = session.run(["ibv_devices"], (("MRC_SHIM_DEVICES", "mrc0,mrc9"),))
    assert "MRC_SHIM_DEVICES names 'mrc9', which is no device: there is mrc0" in process.out, process


def test_a_provider_that_is_no_mrc_library_is_named():
    """[VRB-PRV-1]"""
    process = session.run(["ibv_devices"], (("MRC_PROVIDER", "libm.so.6"),))
    assert "mrc0" not in process.out and "libm.so.6 is no MRC library" in process.out, process


def test_asyncwatch_sees_the_device():
    with session.Program(["stdbuf", "-oL", "ibv_asyncwatch", "-d", "mrc0"], session.environment()) as process:
        process.out_until("mrc0: async event FD")
        assert not process.ended(), process


def test_both_on_one_core():
    server, client = session.run_pair(["ib_send_bw", "-n", "200"], prefix=("taskset", "-c", "0"))
    assert (client.code, server.code) == (0, 0), f"{client}\n{server}"


def test_sysfs_files():
    """[VRB-SYS-1] [VRB-SYS-2]"""
    wanted = {"/sys/class/infiniband/mrc0/ports/1/gid_attrs/types/3": "RoCE v2\n", "/sys/class/infiniband/mrc0/node_type": "1: CA\n",
              "/sys/class/infiniband/mrc0/ports/1/link_layer": "Ethernet\n"}
    for path, content in wanted.items():
        process = session.run(["cat", path])
        assert process.out == content, (path, str(process))
    code = "import os; print(os.path.realpath('/sys/class/infiniband/mrc0/device'), os.access('/sys/class/infiniband/mrc0/device', os.R_OK))"
    process = session.run([sys.executable, "-c", code])
    assert process.out == "/sys/devices/infiniband/mrc0/device True\n", process


def test_conformance_of_every_verb():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance.py")
    process = session.run(["/usr/bin/python3", "-B", script])
    assert process.code == 0 and "FAILED" not in process.out, process
    with open(script) as source:
        checks = re.findall(r"^def (check_\w+)", source.read(), re.MULTILINE)
    # The library's own log shares the output, so that a line may begin behind another one.
    assert checks and set(re.findall(r"passed (check_\w+)", process.out)) == set(checks), process
