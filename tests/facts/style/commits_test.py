"""The subjects of the commits: what the change does, as a command, in a line that every tool shows whole.

usage: commits_test.py SOURCE_DIR
Looked at: the commits after FIRST, as far as the clone has them: all of a shallow one that does not reach back to it. An export
has none.
"""
import os
import re
import shutil
import subprocess
import sys

from style_test import conclude

FIRST = "ac8424efbe10941b7b391c6e768fc0a3fc84196c"  # those up to it are as they are
LONGEST = 72
UNFINISHED = re.compile(r"^(?:wip\b|(?:fixup|squash|amend)!)", re.I)


def complaints(subject):
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters, at most {LONGEST}"
    if not subject[:1].isupper():
        yield "begins with a capital letter"
    if subject.endswith("."):
        yield "ends without a full stop"
    if UNFINISHED.match(subject):
        yield "is of work in progress: fold it into a commit that says what it does"


def self_test():
    assert not list(complaints("Count the silence of a plane from its last arrival"))
    assert not list(complaints("A" * LONGEST))
    for bad in ("A" * (LONGEST + 1), "count it", "Count it.", "WIP", "Wip count it", "fixup! Count it", "Fixup! Count it", ""):
        assert list(complaints(bad)), bad


def git(root, *words):
    """What git prints, of a clone of another user, too; None where it fails, with its message on standard error."""
    done = subprocess.run(["git", "-C", root, "-c", "safe.directory=*", *words], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def subjects(root):
    """(abbreviated id, subject) of each, the newest first. None: they cannot be read."""
    if not os.path.exists(os.path.join(root, ".git")) or not shutil.which("git"):
        return []
    if git(root, "rev-parse", "-q", "--verify", "HEAD") is None:  # no commit yet, or a worktree that was copied elsewhere
        return []
    since = f"{FIRST}..HEAD"
    if not git(root, "rev-parse", "-q", "--verify", FIRST + "^{commit}"):  # a shallow clone, or an import
        since = "HEAD"
    log = git(root, "log", "--no-merges", "--format=%h %s", since)
    return None if log is None else [line.partition(" ")[::2] for line in log.splitlines()]


def main():
    self_test()
    found = subjects(sys.argv[1])
    if found is None:
        print(f"the commits after {FIRST} cannot be read")
        return 1
    # An empty list is as good as well written ones: an export has no history.
    return conclude([f"{commit} '{subject}': {text}" for commit, subject in found for text in complaints(subject)], 1 + len(found),
                    "commits and the check itself")


if __name__ == "__main__":
    sys.exit(main())
