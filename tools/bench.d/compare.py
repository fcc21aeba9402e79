"""tools/bench --compare REV: builds mrc-perf of another revision of this tree and measures both revisions by turns."""
import os
import subprocess

import plan
import programs

FOLDER = os.path.join("build", "compare")


class CannotCompare(Exception):
    pass


def run(words, folder):
    """With its output, which is progress, on standard error."""
    if subprocess.run(words, cwd=folder, stdout=2, check=False).returncode:
        raise CannotCompare(f"'{' '.join(words)}' in {folder} fails")


def built(rev, no_build):
    """mrc-perf of that revision, built in build/compare/COMMIT like the release build of this tree."""
    found = subprocess.run(["git", "rev-parse", "--verify", "--end-of-options", rev + "^{commit}"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise CannotCompare(f"'{rev}' is no revision of this tree: {found.stderr.strip()}")
    commit = found.stdout.strip()
    folder = os.path.abspath(os.path.join(FOLDER, commit[:12]))
    source, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    if not no_build:
        if not os.path.isdir(source):
            unpack(commit, source)
        run(["cmake", "--preset", "release", "-B", build], source)
        run(["cmake", "--build", build, "--target", "mrc-perf"], source)
    path = os.path.join(build, "tools", "mrc-perf", "mrc-perf")
    if not os.path.isfile(path):
        raise CannotCompare(f"{path} is not built")
    return path


def unpack(commit, source):
    """Complete or not there at all."""
    partial = source + ".partial"
    subprocess.run(["rm", "-rf", partial], check=True)
    os.makedirs(partial)
    with subprocess.Popen(["git", "archive", commit], stdout=subprocess.PIPE) as archive:
        unpacked = subprocess.run(["tar", "-x", "-C", partial], stdin=archive.stdout, check=False)
    if archive.returncode or unpacked.returncode:
        raise CannotCompare(f"cannot unpack {commit} into {partial}")
    os.rename(partial, source)


def has_slices(perf):
    return "--slices" in subprocess.run([perf, "--help"], capture_output=True, text=True, check=False).stdout


def groups(place, rev, no_build):
    """(groups of slices, whether the processes stay up)"""
    new = programs.program("mrc-perf")
    if new is None:
        raise CannotCompare(f"mrc-perf is not built in {programs.build}")
    old = built(rev, no_build)
    stays_up = has_slices(old) and has_slices(new)
    return plan.comparison(place, old, new, rev, stays_up), stays_up
