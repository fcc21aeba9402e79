"""mrc-perf's command line: what it refuses with exit code 2, and where it writes what."""
import json
import os

import files
import ports
from pair import Pair, Perf, refused, succeed


def refused_client(args, *words):
    refused(["localhost", *args], code=2, words=words)


def test_bad_command_lines():
    refused_client(["--mtu", "1500"], "256")
    refused_client(["--op", "read"], "--op: 'read' is none of write, write-imm or send")
    refused_client(["--transport", "rc"], "--transport: 'rc' is none of mrc or ud")
    refused_client(["--test", "foo"], "--test: 'foo' is none of bw, lat or rate")
    refused_client(["--size", "12Q"], "12Q", "what to do")
    refused_client(["--size", "-4"], "'-4' is not a size")
    refused_client(["--size", "5G"], "1G")
    refused_client(["--size", "17179869184G"], "is not a size")  # 2^64 bytes
    refused_client(["--sizes", "4K-1K"], "not a sweep")
    refused_client(["--retry", "9,1"], "7,25")
    refused_client(["--retry", "8,1"], "7,25")
    refused_client(["--test", "lat", "--verify"], "--test bw")
    refused_client(["--iters", "5", "--duration", "5"], "--duration")
    for number in ["0", "-1", "18446744073709551615", "99999999999999999999", "1e3", "nan"]:
        refused_client(["--iters", number], f"'{number}' is not a number from 1 to 1099511627776")
    refused_client(["--seed", "-1"], "'-1' is not a number from 0")
    refused_client(["--duration", "nan"], "'nan' is not a number from")
    refused_client(["--wait", "nan"], "'nan' is not a number from")
    refused_client(["--slices", "--iters", "5"], "--iters excludes --slices")
    refused_client(["--slices", "--sizes", "4K,1M"], "--slices measures one size")
    refused_client(["--slices", "--json", "-"], "--slices prints a JSON line for each slice")
    refused_client(["--port", "0"], "'0' is not a number from 1 to 65535")
    refused([""], code=2, words=["HOST is empty"])


def test_options_of_the_other_side():
    refused(["--verify"], code=2, words=["--verify is an option of the client"])
    refused(["--size", "4K", "--quiet"], code=2, words=["--size is an option of the client"])
    refused(["--slices"], code=2, words=["--slices is an option of the client"])
    refused(["--wait", "3"], code=2, words=["--wait is an option of the client"])
    refused_client(["--persistent"], "--persistent is an option of the server")


def test_json_file_that_cannot_be_written():
    """Said before the run, not after it."""
    refused_client(["--json", "/nonexistent/report.json"], "cannot write /nonexistent/report.json", "--json")
    refused(["--json", files.at()], code=2, words=["cannot write"])


def test_json_file():
    """The report takes the place of what was there, in the words of the command line, an error's, too; for a bad command
    line there is none, and the file stays."""
    path = files.write("report.json", "x" * 100000)
    refused(["localhost", "--port", ports.free(), "--transport", "ud", "--size", "1M", "--json", path], words=["datagram"], code=2)
    assert os.path.getsize(path) == 100000
    refused(["localhost", "--port", ports.free(), "--wait", "0.1", "--json", path], words=["cannot reach"])
    with open(path, encoding="utf-8") as file:
        assert "cannot reach" in json.load(file)["error"]
    given = ["--test", "rate", "--op", "write-imm", "--iters", "64", "--timeout", "16", "--retry", "3,4"]
    run = Pair([*given, "--depth", "8"], server_args=["--json", path])
    assert run.finish() == (0, 0), run
    with open(path, encoding="utf-8") as file:
        told = json.load(file)["options"]
    assert told == run.report()["options"], told
    wanted = {"test": "rate", "op": "write-imm", "iters": 64, "timeout": 16, "retry": [3, 4], "depth": 8, "sizes": [64]}
    assert told == {**told, **wanted}, told
    assert "duration_s" not in told and "mtu" not in told, told
    left_open = succeed(["--size", "4K", "--duration", "0.1"])["options"]
    assert left_open["duration_s"] == 0.1 and not {"depth", "timeout", "retry", "iters"} & set(left_open), left_open


def test_lines_while_one_message_runs():
    """A message that takes seconds moves, though none is done."""
    env = {"MRC_FAULT": "delay=4ms", "MRC_MPR": "1"}
    port = ports.free()
    with Perf(["--port", port, "--quiet"], env) as server, \
            Perf(["localhost", "--port", port, "--mtu", "512", "--size", "16M", "--iters", "1"], env) as client:
        assert (client.wait(), server.wait()) == (0, 0), f"{client}\n{server}"
    lines = [line.split() for line in client.out.split("\n") if "Gb/s in packets" in line]
    assert lines and float(lines[0][2]) > 0, client
