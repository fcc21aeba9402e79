"""tools/test is red for whatever it has not seen pass. It runs in a folder that stands for a checkout, with real ctest and made-up
tests; cmake and the package manager are scripts of this test."""
import os
import shutil
import signal
import subprocess
import sys

import files
import process
from environment import clean
from wait import until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools/lib"))
import test_summary

SYSTEM = "LABELS system"
KINDS = {"unit": "--gtest_filter=Suite.*", "py": "tests/harness/run_one.py"}


def program(path, text):
    os.makedirs(os.path.dirname(files.at(path)), exist_ok=True)
    return files.script(path, text, "/bin/bash")


def checkout(folder="checkout"):
    """Its path. All packages are installed, and every build succeeds at once."""
    os.makedirs(files.at(folder, "tools"))
    for name in ("lib", "test"):
        os.symlink(os.path.join(ROOT, "tools", name), files.at(folder, "tools", name))
    program("bin/dpkg-query", "echo ii")
    program("bin/cmake", "")
    return files.at(folder)


def environment():
    return clean({"PATH": files.at("bin") + ":" + os.environ["PATH"], "GIT_CEILING_DIRECTORIES": files.at()}, without=("MRC_", "CTEST_", "GIT_"))


def build(preset, *tests):
    """Each test: name, script, properties of ctest, the text of it. KINDS are told by a word of the command."""
    lines = []
    for number, (name, script, *properties) in enumerate(tests):
        path = program(f"checkout/scripts/{preset}{number}", script) if script is not None else f"{name}-is-missing"
        word = KINDS.get(name.split(".")[0], "")
        lines += [f'add_test("{name}" "{path}" "{word}")', f'set_tests_properties("{name}" PROPERTIES SKIP_RETURN_CODE 77 {" ".join(properties)})']
    os.makedirs(files.at("checkout/build", preset), exist_ok=True)
    files.write(f"checkout/build/{preset}/CTestTestfile.cmake", "\n".join(lines) + "\n")


def gate(*options, code):
    return process.run([files.at("checkout/tools/test"), *options], environment(), code=code).stdout


def red(*tests, names, options=()):
    """The default build has these tests. What is said has to name what failed."""
    checkout()
    build("dev", *tests)
    out = gate(*options, code=1)
    assert f"\n== Failed: {names}\n" in out and f" {names.count(',') + 1} failed, " in out, out
    return out


def flaky(name, first="echo 'AssertionError: 7 is not 8'; exit 1", then="exit 0"):
    """A test of the system tier: what it does at first and when it runs again."""
    mark = files.at(name + ".ran")
    return name, f"if [[ -e {mark} ]]; then\n{then}\nfi\ntouch {mark}\n{first}\n", SYSTEM


def gtest(passed, of=None, skipped=0):
    """The output of a program of GoogleTest."""
    lines = [f"[==========] Running {passed if of is None else of} tests from 1 test suite.", f"[  PASSED  ] {passed} tests."]
    if skipped:
        lines.append(f"[  SKIPPED ] {skipped} tests, listed below:")
    return "".join(f"echo '{line}'\n" for line in lines)


GOOD = ("good", "exit 0")


def test_cases_and_skips_are_counted():
    checkout()
    build("dev", GOOD, ("cases", gtest(3)), ("some", gtest(2, of=4, skipped=2)), ("skipped", "echo 'skipped: no root'; exit 77"))
    out = gate(code=0)
    assert out.endswith("6 passed, 0 failed, 3 skipped\n") and "== Skipped 1: no root\n" in out, out


def test_a_failure_of_another_tier_does_not_run_again():
    name, script, _ = flaky("fast")
    red(GOOD, (name, script, "LABELS fast"), names="dev fast")


def test_a_test_of_the_system_tier_runs_again():
    checkout()
    build("dev", GOOD, flaky("net"))
    out = gate(code=0)
    assert "\n== flaky: dev net\n" in out and out.endswith("\n2 passed, 0 failed, 0 skipped\n"), out
    build("dev", GOOD, flaky("bad", then="exit 1"))
    assert "\n== Failed: dev bad\n" in gate(code=1)


def test_only_so_many_may_be_flaky():
    red(*(flaky(f"net{n}") for n in range(4)), names="more than 3 flaky tests")


def test_beside_a_flaky_test_a_missing_program_is_a_failure():
    out = red(GOOD, flaky("net"), ("unit_NOT_BUILT", None, SYSTEM), names="dev unit_NOT_BUILT")
    assert "flaky: net" in out and "unit_NOT_BUILT: did not run: Unable to find executable: unit_NOT_BUILT-is-missing" in out, out


def test_a_disabled_test_is_a_failure():
    red(GOOD, ("off", "exit 0", "DISABLED TRUE"), names="dev off")


def test_a_ctest_that_is_killed_is_a_failure():
    """Also where the results of an earlier run are good."""
    checkout()
    build("dev", GOOD)
    gate(code=0)
    build("dev", ("good", "kill -KILL $PPID"))
    out = gate(code=1)
    assert "\n== Failed: dev ctest\n" in out and "exit status 137" in out, out


def test_a_ctest_that_is_killed_in_the_second_run_is_a_failure():
    red(GOOD, flaky("net", then="kill -KILL $PPID"), names="dev net")


def failures(listed, results, status):
    """Of a run of which ctest left this."""
    log = files.write("ctest", "")
    for part, text in (("listed", "".join(name + "\tother\n" for name in listed)), ("xml", results), ("status", f"{status}\n")):
        files.write("ctest." + part, text)
    return [name for name, _ in test_summary.failures(log)]


def test_the_results_are_of_the_tests_that_ctest_lists():
    good = '<testsuite><testcase name="a" status="run"/></testsuite>'
    bad = good.replace("run", "fail")
    assert failures(["a"], good, 0) == []
    assert failures(["a", "b"], good, 0) == ["b"] and failures(["b"], good, 0) == ["b", "a"] and failures(["a", "a"], good, 0) == ["a"]
    assert failures(["a"], "", 0) == failures(["a"], good[:-9], 0) == failures(["a"], good, 8) == ["ctest"]
    assert failures(["a"], bad, 8) == ["a"] and failures(["a"], bad, 1) == ["a", "ctest"]
    assert failures(["a"], good.replace("run", "unknown"), 0) == ["a"]


def test_a_skip_without_a_reason_is_a_failure():
    out = red(GOOD, ("net", "exit 77", SYSTEM), names="dev net")
    assert "net: skipped without a reason" in out, out


def test_a_second_run_without_a_verdict_is_a_failure():
    """Its files have names that are too long."""
    name = "net." + 245 * "x"
    out = red((name, "exit 1", SYSTEM), names="dev " + name)
    assert f"{name}: its second run cannot be judged" in out, out


def test_a_skip_in_the_second_run_is_a_failure():
    out = red(GOOD, flaky("net", then="echo 'skipped: no root'; exit 77"), names="dev net")
    assert "net: did not run again: no root" in out, out


def test_a_case_that_failed_has_to_pass_in_the_second_run():
    case = "echo '[ RUN      ] Net.a'\n"
    first = gtest(1, of=2) + case + "exit 1"
    for then, code in ((case + gtest(1, of=2, skipped=1) + "exit 0", 1), (case + "echo '[       OK ] Net.a (1 ms)'\n" + gtest(2) + "exit 0", 0)):
        shutil.rmtree(files.at("checkout"), ignore_errors=True)
        checkout()
        build("dev", flaky(f"net{code}", first, then))
        out = gate(code=code)
        assert ("did not run again" in out) == bool(code), out


def test_the_cause_is_of_the_flaky_test_alone():
    checkout()
    other = ("net.other", "echo 'OtherError: not of the first'; exit 1", SYSTEM)
    build("dev", other, flaky("net"), flaky("slow", first="sleep 60") + ("TIMEOUT 5",))
    out = gate(code=1)
    assert "\n== flaky: net, first failure: AssertionError: 7 is not 8\n" in out and "\n== flaky: slow, first failure: Timeout\n" in out, out


def test_a_program_of_googletest_has_to_report_all_its_cases():
    scripts = (gtest(0), gtest(2, of=3), gtest(2, of=3) + "exit 1", gtest(3) + "kill -SEGV $$", gtest(3) + "exit 1",
               "echo '[==========] Running 3 tests from 1 test suite.'")
    names = [f"unit{number}" for number in range(len(scripts))]
    out = red(GOOD, *((name, script, SYSTEM) for name, script in zip(names, scripts)), names=",".join("dev " + name for name in names))
    assert out.endswith("\n1 passed, 6 failed, 0 skipped\n"), out


def test_an_exit_status_is_no_report():
    """Of a test that ended before it, or whose report says otherwise."""
    scripts = {"unit.none": "", "unit.twice": gtest(1) + gtest(1), "unit.child": "echo 'a_test.cc:7: Failure'\n" + gtest(1),
               "unit.disabled": gtest(1) + "echo '  YOU HAVE 1 DISABLED TEST'", "py.ended_early": "echo it begins"}
    out = red(GOOD, ("unit.good", gtest(2)), ("py.good", "echo passed"), *scripts.items(),
              names=",".join("dev " + name for name in scripts))
    assert out.endswith("\n4 passed, 5 failed, 0 skipped\n"), out


def test_a_build_of_which_every_test_is_skipped_is_a_failure():
    skipped = ("net", "echo 'skipped: no root'; exit 77", SYSTEM)
    red(skipped, names="no test of dev ran: all were skipped")
    shutil.rmtree(files.at("checkout"))
    red(skipped, GOOD, names="no test of dev ran: all were skipped", options=["--filter", "net"])


def test_a_file_that_leaves_out_tests_is_a_failure():
    checkout()
    build("dev", GOOD, ("bad", "exit 1"))
    files.write("checkout/build/dev/CTestCustom.cmake", "set(CTEST_CUSTOM_TESTS_IGNORE bad)\n")
    assert "\n== Failed: build/dev/CTestCustom.*, which may leave out tests\n" in gate(code=1)


def test_settings_of_the_caller_are_forgotten_or_refused():
    checkout()
    build("dev", ("settings", "[[ -z $TEST_SCALE$NCCL_DEBUG$GTEST_FILTER$MRC_FAULT ]]"))
    for name in ("TEST_SCALE", "NCCL_DEBUG", "GTEST_FILTER", "MRC_FAULT"):
        process.run([files.at("checkout/tools/test")], {**environment(), name: "1"})
    refused = process.run([files.at("checkout/tools/test")], {**environment(), "MRC_SWARM_SEEDS": "0"}, code=1)
    assert "MRC_SWARM_SEEDS is '0': it has to be a number from 1 on" in refused.stderr, refused


def test_a_report_of_a_sanitizer_is_a_failure():
    """Of a child, whose exit status the test does not look at."""
    out = red(GOOD, ("net", gtest(1) + "echo '==7==ERROR: LeakSanitizer: detected memory leaks'", SYSTEM), names="dev net")
    assert "net: a sanitizer reports" in out, out


def test_a_test_that_crashed_or_has_a_race_does_not_run_again():
    """A race, a crash of the test's program and a skip beside a report."""
    race, crash = "echo 'WARNING: ThreadSanitizer: data race (pid=7)'\n", "sh -c 'sh -c \"kill -SEGV \\$\\$\"; exit 139'\n"
    checkout()
    build("dev", GOOD, flaky("race", first=race + "exit 66"), flaky("crash", first=crash + "exit 139"),
          ("skip", race + "echo 'skipped: no root'; exit 77", SYSTEM))
    # Not by process.run(), to which the report would be one of this script.
    out = subprocess.run([files.at("checkout/tools/test")], env=environment(), check=False, capture_output=True, text=True).stdout
    assert out.endswith("\n== Failed: dev race,dev crash,dev skip\n1 passed, 3 failed, 0 skipped\n"), out
    assert "race: a sanitizer reports" in out and "crash: it crashed" in out, out


def test_options_that_say_nothing_together_are_refused():
    checkout()
    for words in (["--sanitizers", "--install"], ["--install", "--filter", "x"], ["--install", "--area", "sim"], ["--all", "--long"]):
        process.run([files.at("checkout/tools/test"), *words], environment(), code=1)


def test_one_build_may_have_none_of_the_selected_tests():
    checkout()
    build("asan", ("sim", "exit 0"))
    build("tsan", GOOD)
    out = gate("--sanitizers", "--filter", "^sim", code=0)
    assert "== Tests (tsan): this build has none of those selected\n" in out and out.endswith("\n1 passed, 0 failed, 0 skipped\n"), out


def test_a_filter_that_no_test_of_any_build_matches_is_an_error():
    red(GOOD, names="no test of dev is selected by --filter 'nosuch'", options=["--filter", "nosuch"])
    build("asan", GOOD)
    build("tsan", GOOD)
    assert "no test of asan tsan is selected by --filter 'nosuch'" in gate("--sanitizers", "--filter", "nosuch", code=1)


def test_a_whole_build_without_tests_is_an_error():
    red(names="dev has no tests")


def test_a_build_that_ctest_cannot_read_is_an_error():
    checkout()
    build("dev", GOOD)
    with open(files.at("checkout/build/dev/CTestTestfile.cmake"), "a", encoding="utf-8") as tests:
        tests.write("include(nosuch.cmake)\n")
    assert "\n== Failed: dev ctest -N\n" in gate(code=1)


def begun(name):
    """A script's lines that say that it runs, and by which process."""
    return f"echo $$ >{files.at(name)}.new; mv {files.at(name)}.new {files.at(name)}\n"


def ends_all(number, names, *options):
    """After the signal the script ends with the shell's exit code for it, and so does what it started."""
    with process.Process([files.at("checkout/tools/test"), *options], environment(),
                         preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as ran:  # nohup ignores it
        until(lambda: all(os.path.exists(files.at(name)) for name in names), "what it starts runs")
        pids = []
        for name in names:
            with open(files.at(name), encoding="ascii") as pid:
                pids.append(int(pid.read()))
        ran.signal(number)
        assert ran.wait() == 128 + number, ran
        until(lambda: all(process.ended(pid) for pid in pids), "what it started has ended")


def test_a_signal_ends_a_build():
    checkout()
    program("bin/cmake", begun("cmake") + "sleep 60")
    ends_all(signal.SIGINT, ["cmake"])


def test_a_signal_ends_tests_and_the_build_beside_them():
    checkout()
    program("bin/cmake", '[[ $* == *asan* ]] || {\n' + begun("cmake") + "sleep 60; }")
    build("asan", ("deaf", "trap '' TERM\n" + begun("test") + "for _ in {1..600}; do sleep 0.1; done"))  # as the first process of a world is
    ends_all(signal.SIGTERM, ["cmake", "test"], "--sanitizers")


def test_a_signal_ends_the_build_that_is_waited_for():
    checkout()
    program("bin/cmake", '[[ $* == *asan* ]] || {\n' + begun("cmake") + "sleep 60; }")
    build("asan", GOOD)
    ends_all(signal.SIGHUP, ["cmake"], "--sanitizers")


def test_the_seed_of_a_fuzz_target_is_printed_and_repeats():
    target = program("a target", 'printf "%s\\n" "$@"; echo "inputs" >"${@: -1:1}/new" 2>/dev/null || true\n')
    words = [os.path.join(ROOT, "tests/fuzz/run"), target, files.at("nosuch corpus")]
    for settings, seed in (({}, 1), ({"MRC_FUZZ_SEED": "77"}, 77)):
        ran = process.run(words, clean(settings))
        first, *options, corpus = ran.stdout.splitlines()
        assert first == f"The same inputs again: MRC_FUZZ_SEED={seed}" + "".join(f" '{word}'" for word in words), ran
        assert options[:4] == [f"-seed={seed}", "-runs=20000", "-max_len=4096", "-error_exitcode=1"] and corpus == words[-1], ran
        assert not os.path.exists(options[4]), ran  # the folder of new inputs
    program("a target", "exit 1")
    process.run(words, clean(), code=1)
    process.run(words, clean({"MRC_FUZZ_SEED": "0"}), code=2)  # which libFuzzer takes for a random one


def test_each_commit_has_a_seed_of_its_own():
    checkout()
    build("dev", ("fuzz", "[[ $MRC_FUZZ_SEED == 2 && $MRC_SWARM_FIRST == 10001 ]]"))
    gate(code=0)  # without a commit
    program("bin/git", "echo 00000ff123")
    build("dev", ("fuzz", "[[ $MRC_FUZZ_SEED == 256 && $MRC_SWARM_FIRST == 2550001 ]]"))
    gate(code=0)


def test_installs_into_a_checkout_whose_path_has_a_space():
    folder = checkout("a checkout")
    os.makedirs(os.path.join(folder, "libmrc"))
    for page in ("README.md", "libmrc/README.md"):
        os.symlink(os.path.join(ROOT, page), os.path.join(folder, page))
    program("bin/cmake", 'echo "cmake $*"; [[ $1 != --install ]] || mkdir -p "${@: -1}/bin" "${@: -1}/sbin"\n'
            '[[ $1 != --install ]] || for tool in bin/nccl-net-bench sbin/mrc-fabric; do\n'
            'printf \'#!/bin/sh\\necho "${0##*/} $*"\\n\' >"${@: -1}/$tool"; chmod +x "${@: -1}/$tool"; done\n')
    program("bin/pkg-config", 'echo "-L$PKG_CONFIG_PATH"')
    program("bin/cc", 'for word; do [[ $word != *checkout* ]] || exit 1; done; echo "cc $*"; printf "#!/bin/sh\\n" >out/write; chmod +x out/write\n')
    program("bin/ibv_devices", '[[ $LD_PRELOAD == *.so && $LD_PRELOAD != *" "* ]] && echo mrc0')
    ran = process.run([os.path.join(folder, "tools/test"), "--install"], environment())
    assert ran.stdout.endswith("\n1 passed, 0 failed, 0 skipped\n"), ran
    assert os.path.exists(os.path.join(folder, "build/root/sbin/mrc-fabric"))
    with open(os.path.join(folder, "build/logs/Installation.log"), encoding="utf-8") as log:
        text = log.read()
    assert "\nmrc-fabric --version\n" in text and "\nmrc0\n" in text and "--test all --ranks 2" in text, text
