"""Runs a row of programs.py and judges it."""
import process
import programs
import session
from skip import need_program


def version(package):
    return process.run(["dpkg-query", "-W", "-f=${Version}", package], code=None).stdout or "not installed"


def judge(row):
    """The result in words; AssertionError when it is not what is expected."""
    if row.needs:
        need_program(*row.needs)
    if not row.pair:
        program = session.run(row.command, row.env)
        if row.refusal:
            assert row.refusal in program.out and program.code != 0, program
            return f"refused: {row.refusal}"
        assert program.code == 0, program
        assert row.output in program.out, program
        return "works"
    server, client = session.run_pair(row.command, row.env, late=row.slow_peer, rdma_cm=row.rdma_cm)
    both = f"{client}\n{server}"
    if row.refusal:
        assert row.refusal in both, both
        assert client.code != 0, both
        return f"refused: {row.refusal}"
    assert (client.code, server.code) == (0, 0), both
    assert row.output in client.out, both
    for complaint in ("Sanitizer", "runtime error:", "Failed status", "Completion with error"):
        assert complaint not in both, both
    return "works"


def run_row(name):
    (row,) = [r for r in programs.ROWS + programs.MRC_ROWS if r.name == name]
    print(judge(row))
