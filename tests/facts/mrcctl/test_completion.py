"""Completion for bash offers the commands and options that mrcctl has.

usage: test_completion.py MRCCTL SCRIPT
"""
import sys

from process import run


def complete(mrcctl, *words):
    script = sys.argv[2]
    asked = " ".join(f"'{w}'" for w in (mrcctl, *words))
    return run(["bash", "-c", f"source {script}; COMP_WORDS=({asked}); COMP_CWORD={len(words)}; _mrcctl; "
                              "printf '%s\\n' \"${COMPREPLY[@]}\""]).stdout.split()


def main():
    mrcctl = sys.argv[1]
    assert {"show", "probe", "preflight", "profile", "ev", "port", "events", "watch"} <= set(complete(mrcctl, ""))
    assert complete(mrcctl, "pref") == ["preflight"]
    assert {"deny", "allow", "replace", "expand"} <= set(complete(mrcctl, "ev", ""))
    assert complete(mrcctl, "ev", "deny", "--vi") == ["--via"]
    assert complete(mrcctl, "--json", "show", "prof") == ["profiles"]
    assert "--count" in complete(mrcctl, "probe", "fd00::1", "--")


if __name__ == "__main__":
    main()
