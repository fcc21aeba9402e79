"""tools/dev/test-names, in repositories of two commits that each test makes."""
import os
import sys

import files
import process
from environment import clean

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/dev/test-names")
ALONE = clean({"GIT_CONFIG_GLOBAL": "/dev/null"}, without=("GIT_",))  # a hook of git that runs the tests names another repository


def git(*words):
    return process.run(["git", "-C", files.at(), "-c", "user.name=test", "-c", "user.email=test@localhost", *words], ALONE)


def commit(name, texts):
    """Makes these files, by path, the whole tree of a commit, and tags it."""
    git("rm", "-rqf", "--ignore-unmatch", ".")
    for path, text in texts.items():
        os.makedirs(os.path.dirname(files.at(path)), exist_ok=True)
        files.write(path, text)
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", name)
    git("tag", "-f", name)


def compare(first, second):
    """What the tool prints of a change from these files to those, without the summary; and its exit code."""
    git("init", "-q")
    commit("first", first)
    commit("second", second)
    ran = process.run([TOOL, "--repository", files.at(), "first", "second"], ALONE, code=None)
    assert not ran.stderr, ran
    return ran.stdout.splitlines()[:-1], ran.returncode


def gtest(suite, case, body="body"):
    return f"TEST_F({suite}, {case}) {{\n  {body}\n}}\n"


def words(letter, count):
    """Statements that are a word each."""
    return " ".join(f"{letter}{letter}{letter}{letter}{number};" for number in range(count))


def python(case):
    return f"def test_{case}():\n    pass\n\n\n"


def test_a_case_that_is_removed_is_gone():
    kept = gtest("Path", "is_up")
    assert compare({"part/a_test.cc": kept + gtest("Path", "is_down")}, {"part/a_test.cc": kept}) == (
        ["gone    part/a_test.cc: Path.is_down"], 1)


def test_a_case_of_each_kind_is_found():
    lost = {"part/a_test.cc": gtest("Path", "fails"), "part/test_pair.py": python("fails"), "part/rows.py": '    row("lost", 1),\n',
            "part/CMakeLists.txt": "  mrc_test(swarm.${shard} COMMAND swarm)\n", "part/fuzz/wire_fuzz.cc": "int fuzz();\n",
            "part/swarm/known_seeds.txt": "# of every run\nforger 7\ncalm 8  # why\n9\n"}
    gone, code = compare({**lost, "README.md": gtest("Text", "is_no_test")}, {"README.md": ""})
    assert gone == ["gone    part/CMakeLists.txt: swarm.${shard}", "gone    part/a_test.cc: Path.fails",
                    "gone    part/fuzz/wire_fuzz.cc: wire_fuzz", "gone    part/rows.py: row.lost",
                    *(f"gone    part/swarm/known_seeds.txt: {seed}" for seed in ("9", "calm 8", "forger 7")),
                    "gone    part/test_pair.py: pair.fails"], gone
    assert code == 1


def test_a_case_that_moves_is_neither():
    case = gtest("Path", "is_up")
    assert compare({"part/a_test.cc": case}, {"part/fast/b_test.cc": case}) == ([], 0)


def test_of_two_cases_of_one_name_the_one_that_left_its_file_is_gone():
    case = gtest("Path", "is_up")
    assert compare({"part/a_test.cc": case, "part/b_test.cc": case}, {"part/b_test.cc": case}) == (
        ["gone    part/a_test.cc: Path.is_up"], 1)


def test_another_spelling_is_a_renaming():
    assert compare({"part/a_test.cc": gtest("Path", "IsUp")}, {"part/a_test.cc": gtest("Path", "is_up", "other")}) == (
        ["renamed part/a_test.cc: Path.IsUp -> Path.is_up"], 0)


def test_a_long_name_is_recognised_in_another_suite_and_file():
    for case, code in (("a" * 12, 0), ("a" * 11, 1)):
        found = compare({"part/a_test.cc": gtest("Path", case)}, {"part/b_test.cc": gtest("Port", case, "other")})
        assert found[1] == code, found


def test_a_long_body_is_recognised_under_any_name():
    for body, code in (("a" * 38, 0), ("a" * 37, 1)):  # and the bracket and the space before it
        found = compare({"part/a_test.cc": gtest("Path", "fails", body)}, {"part/b_test.cc": gtest("Port", "ends", body)})
        assert found[1] == code, found


def test_a_body_of_which_sixty_percent_are_kept_is_similar():
    """Ten words each, with the bracket."""
    for kept, code in ((5, 0), (4, 1)):
        before = words("a", 9)
        after = words("a", kept) + " " + words("b", 9 - kept)
        for path in ("part/a_test.cc", "part/b_test.cc"):  # where the suite is the same
            found = compare({"part/a_test.cc": gtest("Path", "fails", before)}, {path: gtest("Path", "ends", after)})
            assert found[1] == code, (kept, path, found)


def test_the_suite_of_python_is_its_module():
    assert compare({"part/test_pair.py": python("fails"), "part/test_link.py": python("fails")},
                   {"part/test_pair.py": python("fails")}) == (["gone    part/test_link.py: link.fails"], 1)


def test_an_unknown_revision_is_refused():
    git("init", "-q")
    ran = process.run([TOOL, "--repository", files.at(), "nosuch"], ALONE, code=2)
    assert "nosuch" in ran.stderr and not ran.stdout, ran


def test_the_summary_counts():
    git("init", "-q")
    commit("first", {"part/a_test.cc": gtest("Path", "IsUp") + gtest("Path", "fails")})
    commit("second", {"part/a_test.cc": gtest("Path", "is_up")})
    ran = process.run([sys.executable, "-B", TOOL, "--repository", files.at(), "first", "second"], ALONE, code=1)
    assert ran.stdout.splitlines()[-1] == "2 cases in first, 1 in second: 1 renamed, 1 gone", ran
