"""Every check of this folder, one after the other, as `ctest -R ^style` runs them; needs no build.

usage: python3 -B tests/facts/style [SOURCE_DIR]
"""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.normpath(os.path.join(HERE, "..", "..", ".."))
    environment = dict(os.environ, PYTHONPATH=os.path.join(root, "tests", "harness"))
    failed = []
    for part in sorted(glob.glob(os.path.join(HERE, "*_test.py"))):
        name = os.path.basename(part)[:-len("_test.py")]
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-B", part, root], env=environment, check=False).returncode:
            failed.append(name)
    print("complaints in: " + ", ".join(failed) if failed else "no complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
