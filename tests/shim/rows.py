"""Runs a row of programs.py and judges it."""
import subprocess

import session


def version(package):
    found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return found.stdout or "not installed"


def judge(row):
    """The result in words; AssertionError when it is not what is expected."""
    if not row.pair:
        process = session.run(row.command, row.env)
        if row.refusal:
            assert row.refusal in process.out and process.process.returncode != 0, str(process)
            return f"refused: {row.refusal}"
        assert process.process.returncode == 0, str(process)
        assert row.output in process.out, str(process)
        return "works"
    server, client = session.run_pair(row.command, row.env, late=row.slow_peer, rdma_cm=row.rdma_cm)
    both = f"{client}\n{server}"
    if row.refusal:
        assert row.refusal in both, both
        assert client.process.returncode != 0, both
        return f"refused: {row.refusal}"
    assert (client.process.returncode, server.process.returncode) == (0, 0), both
    assert row.output in client.out, both
    for complaint in ("Sanitizer", "runtime error:", "Failed status", "Completion with error"):
        assert complaint not in both, both
    return "works"
