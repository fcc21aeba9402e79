"""What the machine lacks is a skip; what the test or the build does wrong is a failure (tests/harness/built.py, namespaces.py)."""
import os

import files
from outcome import fails, is_skipped, passes

BUILT = "import built\ndef test():\n    assert built.path('PROGRAM').endswith('/program')\n"
# As root, with programs of the test's own in the place of the machine's.
NAMESPACES = "import os, namespaces\nos.geteuid = lambda: 0\ndef test():\n    with namespaces.Namespaces(['one']):\n        {}\n"


def programs(**texts):
    """An environment with shell scripts before the machine's programs."""
    for name, text in texts.items():
        files.script(name, text)
    return {"PATH": files.at() + ":" + os.environ["PATH"]}


def test_a_program_that_is_built():
    passes(BUILT, "PROGRAM=" + files.write("program", ""))


def test_a_program_that_this_configuration_leaves_out():
    is_skipped("PROGRAM is not a part of this build", BUILT)


def test_a_program_that_is_declared_and_missing():
    fails("PROGRAM is not built", BUILT, "PROGRAM=" + files.at("program"))


def test_a_kernel_without_namespaces():
    is_skipped("this kernel refuses new namespaces: no", NAMESPACES.format("pass"), **programs(unshare="echo no >&2; exit 1", ip="exit 0"))


def test_without_root():
    is_skipped("network namespaces need root", NAMESPACES.format("pass").replace("0\n", "1\n", 1))


def test_an_error_of_ip():
    taken = programs(unshare="exit 0", ip="""case $* in "netns add one") echo File exists >&2; exit 1 ;; esac""")
    fails("File exists", NAMESPACES.format("pass"), **taken)
    later = programs(unshare="exit 0", ip="""case $* in *lnik*) echo 'Object "lnik" is unknown' >&2; exit 1 ;; esac""")
    fails('Object "lnik" is unknown', NAMESPACES.format("namespaces.ip('lnik', 'add')"), **later)
    passes(NAMESPACES.format("namespaces.ip('link', 'add')"), **later)


def test_a_program_that_its_package_does_not_have():
    wanted = "import skip\ndef test():\n    skip.need_program('ib_wirte_bw', 'perftest')\n"
    fails("package perftest is installed and has no program ib_wirte_bw", wanted, **programs(**{"dpkg-query": "printf installed"}))
    is_skipped("the program ib_wirte_bw is missing (apt-get install perftest)", wanted, **programs(**{"dpkg-query": "exit 1"}))
