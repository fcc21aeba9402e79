"""Files of a test, in a folder of its own that run_one.py makes and removes."""
import os

FOLDER = "."  # set by run_one.py


def at(*names):
    """A path in the folder; without names the folder."""
    return os.path.join(FOLDER, *names)


def write(name, text):
    """Returns the path."""
    with open(at(name), "w", encoding="utf-8") as out:
        out.write(text)
    return at(name)


def script(name, text, shell="/bin/sh"):
    """A program for that shell; returns the path."""
    path = write(name, f"#!{shell}\n{text}\n")
    os.chmod(path, 0o755)
    return path
