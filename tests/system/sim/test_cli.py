"""The program from outside: exit codes and messages, every example readable, ranks that share a sweep write what one process writes.

usage: test_cli.py MRC_SIM SIM_FOLDER MRCLOG CLASS    the tests of that class
"""
import filecmp
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import unittest

import process
import skip
from limits import limit
from wait import until

PROGRAM, FOLDER, MRCLOG, CLASS = sys.argv[1:]
SWEEP = """name: shared
fabric: tiny
workloads: [{kind: all_to_all, name: main, bytes: 30KB}]
faults: [{kind: loss, where: spine_link, loss: 1%}]
limit: 20ms
sweep:
  transport.kind: [mrc, roce]
  fabric.ev.count: [2, 8, 16]
checks: [{metric: finished, min: 1}]
"""


def run(*arguments, env=None, prefix=()):
    return process.run([*prefix, PROGRAM, *arguments], dict(os.environ, **(env or {})), code=None, limit_s=limit(100))


def files_of(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


class Sweep(unittest.TestCase):
    """A scenario in a folder of the test's own."""

    @classmethod
    def setUpClass(cls):
        cls.once = os.path.join(tempfile.mkdtemp(prefix="mrc-sim-"), "once")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(os.path.dirname(cls.once))

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mrc-sim-")
        self.scenario = os.path.join(self.folder, "s.yaml")
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def assert_same(self, a, b):
        self.assertEqual(files_of(a), files_of(b))
        for name in files_of(a):
            self.assertTrue(filecmp.cmp(os.path.join(a, name), os.path.join(b, name), shallow=False), name)

    def serial(self):
        """What one process makes of SWEEP; run once for all tests."""
        if not os.path.exists(self.once):
            done = run("run", self.scenario, "-o", self.once, "-j", "1", "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
        return shutil.copytree(self.once, self.path("serial"))


class Mpirun(Sweep):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("mpirun"):
            raise unittest.SkipTest("the program mpirun is missing (apt-get install openmpi-bin)")
        super().setUpClass()

    def test_mpirun_gives_the_files_of_one(self):
        done = run("sweep", self.scenario, "--launcher", "mpi", "-o", self.path("mpirun"), "-q",
                   prefix=("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.serial(), self.path("mpirun"))


class Cli(Sweep):
    def test_every_example_can_be_read(self):
        examples = sorted(os.listdir(os.path.join(FOLDER, "examples")))
        self.assertGreater(len([e for e in examples if e.endswith(".yaml")]), 12)
        for name in examples:
            if name.endswith(".yaml"):
                done = run("check", os.path.join(FOLDER, "examples", name))
                self.assertEqual(done.returncode, 0, done.stderr)

    def readme_page(self):
        """The section for newcomers, and the rest."""
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as source:
            before, page, after = re.split(r"^## (?:Healthy against faulty in a page|Fabric file)\n", source.read(), flags=re.M)
        return page, before + after

    def test_the_page_for_newcomers_works_to_the_letter(self):
        page, _ = self.readme_page()
        self.assertLess(len(page.splitlines()), 60, "longer than a page")
        (name,) = re.findall(r"Write this as `(.*?)`", page)
        (scenario,) = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(scenario)
        os.symlink(PROGRAM, self.path("mrc-sim"))
        commands = re.findall(r"^```sh\n(.*?)^```", page, re.S | re.M)
        self.assertEqual(len(commands), 3)
        printed = []
        for command in commands:
            done = process.run(["sh", "-ec", command], dict(os.environ, PATH=self.folder + ":" + os.environ["PATH"]), limit_s=limit(100),
                               cwd=self.folder)
            printed.append(done.stdout)
        self.assertIn("2 points, 2 checks", printed[0])
        sentence = re.search(r"^The job ran [\d.]+ % longer, [\d.]+ us lost to \d+ flaps of plane 0 T1 1 .*$", printed[1], re.M)
        self.assertIsNotNone(sentence, printed[1])
        for report in re.findall(r"`(\S+/report.html)`", page):
            with open(self.path(report), encoding="utf-8") as text:
                text = text.read()
            if report == "flaps.out/report.html":
                self.assertIn(f'<p class="first">{sentence[0]}</p>\n<svg', text)
                for mark in ("healthy", "faulty", "down plane 0 T1 1", "up plane 0 T1 1"):
                    self.assertIn(mark, text)
        self.assertRegex(printed[2], r"(?m)^At worst \(qps [12]\) the job ran ")
        self.assertIn("4 points in qps.out", printed[2])

    def test_check_refuses_a_metric_that_does_not_exist(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP.replace("metric: finished", "metric: jobs.main.fct_us.maximum"))
        for command in (("check", self.scenario), ("run", self.scenario, "-o", self.path("out"))):
            done = run(*command)
            self.assertEqual(done.returncode, 2)
            self.assertIn("s.yaml:9: metric 'jobs.main.fct_us.maximum' does not exist: 'maximum' is not in 'jobs.main.fct_us'. "
                          "Allowed: min, p50, p99, max, mean", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_ranks_share_a_sweep_with_a_baseline(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP + "baseline: true\n")
        self.assertEqual(run("run", self.scenario, "-o", self.path("one"), "-j", "1", "-q").returncode, 0)
        for rank in (1, 0):
            done = run("sweep", self.scenario, "--launcher", "mpi", "-o", self.path("mpi"), "-q",
                       env={"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"})
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.path("one"), self.path("mpi"))
        self.assertEqual(run("report", self.path("mpi")).returncode, 0)
        self.assert_same(self.path("one"), self.path("mpi"))

    def test_the_files_in_the_readme_can_be_read(self):
        fabric, scenario = re.findall(r"^```yaml\n(.*?)^```", self.readme_page()[1], re.S | re.M)
        for name, text, arguments in (("fabric.yaml", fabric, ("--fabric",)), ("scenario.yaml", scenario, ())):
            with open(self.path(name), "w", encoding="utf-8") as out:
                out.write(text)
            done = run("check", *arguments, self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_largest_fabric_is_planned_and_walked(self):
        done = run("check", "--fabric", "full131072", "--pairs", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("131072 NICs", done.stdout)
        self.assertIn("all arrive", done.stdout)

    def test_bad_input_is_named_and_ends_with_2(self):
        with open(self.scenario, "a", encoding="utf-8") as out:
            out.write("seeed: 3\n")
        done = run("run", self.scenario, "-o", self.path("out"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("s.yaml:10: unknown key 'seeed' in 'scenario', did you mean 'seed'?", done.stderr)

    def test_a_bad_command_line_ends_with_2(self):
        for arguments in (("run",), ("run", self.scenario, "--jobs", "0"), ("fly",), ("run", self.scenario, "--seed", "-3"),
                          ("run", self.scenario, "--set", "seeed=3")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr, arguments)
        self.assertEqual(run("--help").returncode, 0)

    def test_a_check_that_fails_ends_with_1(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP.replace("finished, min: 1", "finished, max: 0"))
        done = run("run", self.scenario, "-o", self.path("out"), "-q")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("FAILS", done.stdout)

    def test_several_jobs_give_the_files_of_one(self):
        done = run("run", self.scenario, "-o", self.path("jobs"), "-j", "3", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.serial(), self.path("jobs"))

    def test_ranks_and_array_tasks_give_the_files_of_one(self):
        serial = self.serial()
        for launcher, names in (("mpi", ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")),
                                ("slurm", ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"))):
            for rank in (1, 0):
                done = run("sweep", self.scenario, "--launcher", launcher, "-o", self.path(launcher), "-q",
                           env={names[0]: str(rank), names[1]: "2"})
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_same(serial, self.path(launcher))

    def slurm(self, out, task, count, low, high, step):
        return run("sweep", self.scenario, "--launcher", "slurm", "-o", self.path(out), "-q",
                   env={"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(count), "SLURM_ARRAY_TASK_MIN": str(low),
                        "SLURM_ARRAY_TASK_MAX": str(high), "SLURM_ARRAY_TASK_STEP": str(step)})

    def test_an_array_may_have_a_step(self):
        for task in (1, 5, 3):  # --array=1-5:2
            done = self.slurm("step", task, 3, 1, 5, 2)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.serial(), self.path("step"))

    def test_an_array_that_is_a_list_is_refused_by_every_task(self):
        for task in (1, 2, 7):  # --array=1,2,7
            done = self.slurm("list", task, 3, 1, 7, 1)
            self.assertEqual(done.returncode, 2, task)
            self.assertIn("--array must be a range", done.stderr)
        self.assertFalse(os.path.exists(self.path("list")))
        done = run("sweep", self.scenario, "--launcher", "mpi", "-o", self.path("list"),
                   env={"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "2"})
        self.assertEqual(done.returncode, 2)

    def test_a_folder_may_be_used_again(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP.replace("30KB", "20KB").replace("[2, 8, 16]", "[2, 4, 8, 16]"))
        self.assertEqual(run("run", self.scenario, "-o", self.path("mpi"), "-q").returncode, 0)
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP)
        for rank in (1, 0):
            done = run("sweep", self.scenario, "--launcher", "mpi", "-o", self.path("mpi"),
                       env={"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"})
            self.assertEqual(done.returncode, 0, done.stderr)
            # The first to finish must not count what the earlier sweep left to the second.
            self.assertEqual("6 points" in done.stdout, rank == 0, done.stdout)
            self.assertEqual(os.path.exists(self.path("mpi/summary.json")), rank == 0)
        self.assert_same(self.serial(), self.path("mpi"))

    def test_a_folder_made_with_overrides_can_be_reported_again(self):
        self.assertEqual(run("run", self.scenario, "-o", self.path("set"), "-q", "--set", "repeat=2", "--seed", "7").returncode, 0)
        shutil.copytree(self.path("set"), self.path("before"))
        done = run("report", self.path("set"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.path("before"), self.path("set"))

    def test_some_of_the_swept_values_run_alone(self):
        out = self.path("only")
        done = run("run", self.scenario, "-o", out, "-q", "--only", "transport.kind=roce", "--only", "fabric.ev.count=8", "--only",
                   "fabric.ev.count=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as source:
            labels = [point["label"] for point in json.load(source)["points"]]
        self.assertEqual(labels, ["kind roce, count 2", "kind roce, count 8"])
        self.assertEqual(run("report", out).returncode, 0)
        for only, says in (("fabric.ev.count=3", "allowed: 2, 8, 16"), ("fabric.count=2", "not among the keys of sweep"), ("=2", "KEY=VALUE")):
            done = run("check", self.scenario, "--only", only)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--only {only}: ", done.stderr)
            self.assertIn(says, done.stderr)

    def test_unfinished_messages_are_reported(self):
        done = run("run", self.scenario, "-o", self.path("out"), "-q", "--set", "limit=5us", "--set", "checks=[]")
        self.assertEqual(done.returncode, 0, done.stderr)
        for point in range(6):
            self.assertRegex(done.stderr, rf"(?m)^point {point}: [1-9]\d* of 56 messages unfinished, 0 QPs failed$")
        for name in ("report.html", "points/000/report.html"):
            with open(self.path("out/" + name), encoding="utf-8") as report:
                self.assertRegex(report.read(), r'class="bad">[^<]*of 56 messages unfinished')
        self.assertNotIn("unfinished", run("run", self.scenario, "-o", self.path("out")).stderr)

    def test_children_end_with_their_parent(self):
        with open(self.scenario, "w", encoding="utf-8") as out:
            out.write(SWEEP.replace("30KB", "300MB").replace("20ms", "60s"))
        with process.Process([PROGRAM, "run", self.scenario, "-o", self.path("out"), "-j", "2"]) as parent:
            def both():
                with open(f"/proc/{parent.pid}/task/{parent.pid}/children", encoding="utf-8") as listed:
                    found = listed.read().split()
                return found if len(found) == 2 else None
            children = until(both, "there are no two children")
            parent.signal(signal.SIGTERM)
            parent.wait()
        until(lambda: all(map(process.ended, children)), "children outlive their parent")

    def test_report_and_compare_read_what_run_wrote(self):
        serial = self.serial()
        shutil.copytree(serial, self.path("before"))
        self.assertEqual(run("report", serial).returncode, 0)
        self.assert_same(self.path("before"), serial)
        done = run("compare", serial, serial, "--html", self.path("c.html"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tail us", done.stdout)
        self.assertTrue(os.path.getsize(self.path("c.html")) > 100)

    def test_a_trace_is_written_on_demand(self):
        for out in ("t", "again"):
            done = run("run", self.scenario, "-o", self.path(out), "--trace", "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.path("t"), self.path("again"))
        folder = self.path("t/points/000/trace")
        self.assertEqual(sorted(os.listdir(folder)), [f"nic-{nic:04}.sqlog" for nic in range(8)])
        with open(os.path.join(folder, "nic-0003.sqlog"), encoding="utf-8") as trace:
            header, *events = [json.loads(record) for record in trace.read().split("\x1e")[1:]]
        self.assertEqual(header["trace"]["vantage_point"]["name"], "NIC 3")
        names = {event["name"] for event in events}
        self.assertTrue({"mrc:packet_sent", "mrc:sack_received", "mrc:ev_chosen", "mrc:cwnd_updated"} <= names, names)
        times = [event["time"] for event in events]
        self.assertEqual(times, sorted(times))

    def test_mrclog_reads_a_trace(self):
        self.assertEqual(run("run", self.scenario, "-o", self.path("t"), "--trace", "-q").returncode, 0)
        done = process.run([MRCLOG, "summary", self.path("t/points/000/trace/nic-0000.sqlog")])
        self.assertRegex(done.stdout, r"packet_sent +- +[1-9]")


def main():
    result = unittest.main(argv=[sys.argv[0], CLASS], exit=False).result
    assert result.testsRun or result.skipped, f"{CLASS} has no tests"
    assert result.wasSuccessful(), "see above"
    skip.need(not result.skipped, ", ".join(why for _, why in result.skipped))


if __name__ == "__main__":
    skip.finish(main)
