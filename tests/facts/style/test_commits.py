"""commits_test.py in clones of every kind: it looks at the commits that are there, and tells when it can look at none."""
import os
import shutil

import commits_test
import files
import process
from environment import clean
from skip import need_program

ALONE = clean({"GIT_CONFIG_GLOBAL": "/dev/null"}, without=("GIT_",))  # a hook of git that runs the tests names another repository


def git(*words, folder="origin"):
    return process.run(["git", "-C", files.at(folder), "-c", "user.name=test", "-c", "user.email=test@localhost", *words], ALONE).stdout


def history(*subjects):
    """A repository `origin` with these commits; the second one is FIRST."""
    need_program("git", "git")
    process.run(["git", "init", "-q", files.at("origin")], ALONE)
    for subject in subjects:
        git("commit", "-q", "--allow-empty", "-m", subject)
    commits_test.FIRST = git("rev-parse", f"HEAD~{len(subjects) - 2}").strip()


def of_clone(*options):
    process.run(["git", "clone", "-q", *options, "file://" + files.at("origin"), files.at("clone")], ALONE)
    found = commits_test.subjects(files.at("clone"))
    shutil.rmtree(files.at("clone"))
    return found and [subject for _, subject in found]


def test_a_whole_clone_and_shallow_ones():
    history("Before", "First", "Third", "fourth", "Fifth")
    assert of_clone() == ["Fifth", "fourth", "Third"]
    assert of_clone("--depth", "1") == ["Fifth"]
    assert of_clone("--depth", "2") == ["Fifth", "fourth"]
    assert of_clone("--depth", "3") == ["Fifth", "fourth", "Third"]
    assert of_clone("--depth", "5") == ["Fifth", "fourth", "Third"]


def test_an_import_without_the_first_commit():
    history("Before", "First", "Third")
    commits_test.FIRST = "0" * 39 + "1"
    assert of_clone() == ["Third", "First", "Before"]


def test_a_repository_without_a_commit():
    process.run(["git", "init", "-q", files.at("origin")], ALONE)
    assert commits_test.subjects(files.at("origin")) == []


def test_a_worktree():
    history("Before", "First", "Third")
    git("worktree", "add", "-q", files.at("tree"))
    assert [subject for _, subject in commits_test.subjects(files.at("tree"))] == ["Third"]


def test_an_export_has_none_whatever_is_around_it():
    history("Before", "First", "Third")
    os.mkdir(files.at("origin", "export"))
    assert commits_test.subjects(files.at("origin", "export")) == []
