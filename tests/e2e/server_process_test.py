#!/usr/bin/python3
"""vfsd as a process: what it says to bad arguments, where it listens, how it
ends. What it loses on the way must be nothing."""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

import harness


def vfsd(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a vfsd that is expected to end by itself."""
    return subprocess.run(
        [harness.program("vfsd"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=harness.DEADLINE_SECONDS,
    )


def vfsctl(target: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [harness.program("vfsctl"), f"--target={target}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=harness.DEADLINE_SECONDS,
    )


class ServerProcess(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def assert_refuses(self, ran, *words):
        self.assertNotEqual(ran.returncode, 0)
        self.assertGreater(ran.returncode, 0, "ended by a signal")
        for word in words:
            self.assertIn(word, ran.stdout + ran.stderr)

    def test_help_and_version(self):
        self.assertIn("--import", vfsd("--help").stdout)
        self.assertRegex(vfsd("--version").stdout, r"\d+\.\d+\.\d+")

    def test_bad_arguments_are_named(self):
        self.assert_refuses(vfsd("--no-such-flag"), "no-such-flag")
        self.assert_refuses(vfsd("--fast-paths=warp"), "warp")
        self.assert_refuses(vfsd("--listen=nowhere"), "nowhere")
        self.assert_refuses(vfsd("--listen=127.0.0.1:99999"), "99999")
        self.assert_refuses(vfsd("--anonymous=x"), "x")
        self.assert_refuses(vfsd("--log-level=loud"), "loud")
        self.assert_refuses(vfsd("--log-format=prose"), "prose")

    def test_an_import_directory_that_does_not_exist(self):
        missing = self.scratch / "missing"
        ran = vfsd("--listen=127.0.0.1:0", "--metrics=off", f"--import={missing}")
        self.assert_refuses(ran, str(missing))

    def test_a_bad_value_is_a_usage_error_whoever_finds_it(self):
        for argument in ("--no-such-flag", "--listen=nowhere", "--anonymous=x", "--import=:/x", "--lease=0"):
            self.assertEqual(vfsd(argument).returncode, 2, argument)

    def test_a_time_span_without_an_end_is_refused(self):
        for span in ("inf", "25h", "3000000h", "-1s"):
            self.assert_refuses(vfsd(f"--drain-timeout={span}"), "--drain-timeout", span, "at most 24h")

    def test_two_trees_at_one_mount_point_are_refused(self):
        for first, second in (("/a", "/b"), ("/a:/x", "/b:/x/")):
            for option in ("--import", "--snapshot"):
                ran = vfsd(f"--import={first}", f"{option}={second}")
                self.assertEqual(ran.returncode, 2)
                self.assert_refuses(ran, "two trees at", "/a", "/b")

    def test_a_socket_of_a_server_that_hangs_is_in_use(self):
        path = self.scratch / "socket"
        with socket.socket(socket.AF_UNIX) as hung, socket.socket(socket.AF_UNIX) as waiting:
            hung.bind(str(path))
            hung.listen(0)
            waiting.connect(str(path))
            self.assert_refuses(vfsd(f"--listen=unix:{path}", "--metrics=off"), str(path), "in use")

    def test_an_address_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.assert_refuses(vfsd(f"--listen={address}", "--metrics=off"), address)
            self.assert_refuses(vfsd("--listen=127.0.0.1:0", f"--metrics={address}"), address)

    def test_vfsctl_switches_fast_paths(self):
        def states(*arguments):
            ran = vfsctl(server.target, "fast-paths", *arguments)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return {line.split()[0]: line.split()[1] for line in ran.stdout.splitlines()}

        def exported():
            return harness.scrape(server.metrics).by("vfs_fast_path_enabled", "fast_path")

        with harness.Server() as server:
            names = set(states())
            self.assertEqual(names, {"release-empty", "open-consume", "permanent", "empty-path"})
            self.assertEqual(set(states("none").values()), {"off"})
            self.assertEqual(set(exported().values()), {0})
            some = states("permanent,empty-path")
            self.assertEqual({name for name, state in some.items() if state == "on"}, {"permanent", "empty-path"})
            # Only to look changes nothing.
            self.assertEqual(states(), some)
            self.assertEqual({name for name, value in exported().items() if value}, {"permanent", "empty-path"})
            self.assertEqual(set(states("all").values()), {"on"})
            ran = vfsctl(server.target, "fast-paths", "warp")
            self.assertEqual(ran.returncode, 2)
            self.assertIn("warp", ran.stderr)
        with harness.Server("--no-admin") as server:
            self.assertEqual(vfsctl(server.target, "fast-paths").returncode, 1)

    def test_administration_is_not_for_anonymous_callers_unless_asked_for(self):
        for arguments, status in (
            (("--credentials=anonymous",), 1),
            (("--credentials=anonymous", "--admin"), 0),
            (("--credentials=trust",), 0),
            (("--credentials=trust", "--no-admin"), 1),
        ):
            with harness.Server(*arguments) as server:
                self.assertEqual(vfsctl(server.target, "fast-paths").returncode, status, arguments)

    def test_the_log_is_a_line_an_event_and_none_a_request(self):
        # A name that JSON has to escape, and that is not UTF-8.
        tree = os.fsencode(self.scratch) + b'/a "tree"\n\xff'
        os.mkdir(tree)
        with harness.Server(f"--import={os.fsdecode(tree)}:/tree", "--log-format=json", "--slow-operation-threshold=1h") as server:
            before = server.log()
            for _ in range(20):
                self.assertEqual(vfsctl(server.target, "stat", "/tree").returncode, 0)
                self.assertEqual(vfsctl(server.target, "stat", "/missing").returncode, 1)
            self.assertEqual(server.log(), before)
            server.stop()
            lines = [json.loads(line) for line in server.log().splitlines()]
        for line in lines:
            self.assertEqual(set(line), {"time", "level", "message"})
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$")
            self.assertIn(line["level"], ("info", "warning", "error"))
        messages = [line["message"] for line in lines]
        self.assertIn('a "tree"\n', " ".join(messages))
        self.assertEqual(messages[-1], "drained; bye")

    def test_slow_operations_are_logged(self):
        with harness.Server("--slow-operation-threshold=1ns") as server:
            self.assertEqual(vfsctl(server.target, "stat", "/").returncode, 0)
            self.assertRegex(server.log(), r"(?m)^\S+ warning .*(Stat|OpenSession)")

    def test_the_cpus_that_are_allowed_are_told_and_followed(self):
        allowed = sorted(os.sched_getaffinity(0))

        def config(server):
            series = dict(harness.scrape(server.metrics).series())["vfsd_config_info"][0]
            return int(series["cpus"]), int(series["queues"])

        with harness.Server() as server:
            cpus, queues = config(server)
            self.assertLessEqual(cpus, len(allowed))
            self.assertEqual(queues, max(1, cpus // 2))
        try:
            os.sched_setaffinity(0, allowed[:1])
            with harness.Server() as server:
                self.assertEqual(config(server), (1, 1))
                self.assertIn("CPUs: 1; queues: 1", server.log())
        finally:
            os.sched_setaffinity(0, allowed)

    def test_the_ready_file_tells_where_it_serves_and_goes_at_the_end(self):
        path = self.scratch / "socket"
        with harness.Server(listen=("127.0.0.1:0", f"unix:{path}")) as server:
            self.assertEqual(server.ready["pid"], server.pid)
            self.assertEqual(len(server.ready["listen"]), 2)
            self.assertEqual(server.ready["listen"][1], f"unix:{path}")
            for target in server.ready["listen"]:
                answer = vfsctl(target, "health")
                self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
            ready_file = server.command[server.command.index("--ready-file") + 1]
            server.stop()
            self.assertFalse(os.path.exists(ready_file))

    def test_a_socket_that_a_killed_server_left_is_no_hindrance(self):
        path = self.scratch / "socket"
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        with harness.Server(listen=(f"unix:{path}",)) as server:
            self.assertEqual(vfsctl(server.target, "health").returncode, 0)

    def test_every_type_of_file_is_imported(self):
        tree = self.scratch / "tree"
        tree.mkdir()
        (tree / "file").write_text("x", encoding="utf-8")
        os.mkfifo(tree / "pipe")
        (tree / "link").symlink_to("file")
        os.link(tree / "file", tree / "second")
        with harness.Server("--import", str(tree)) as server:
            shown = vfsctl(server.target, "--uid=0", "stat", "--json", "/file", "/second", "/pipe", "/link")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            facts = [json.loads(line) for line in shown.stdout.splitlines()]
        modes = [stat.filemode((tree / name).lstat().st_mode) for name in ("file", "second", "pipe", "link")]
        self.assertEqual([fact["mode_text"] for fact in facts], modes)
        self.assertEqual(facts[0]["ino"], facts[1]["ino"])
        self.assertEqual(facts[0]["nlink"], 2)

    def test_signals_end_it_in_order(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with harness.Server() as server:
                os.kill(server.pid, number)
                self.assertEqual(server.wait(), 0, server.log())
                self.assertIn("drain", server.log())

    def test_a_signal_before_it_serves_ends_it_at_once(self):
        # A snapshot that is a fifo without a writer: the start waits for ever.
        fifo = self.scratch / "snapshot"
        os.mkfifo(fifo)
        for number in (signal.SIGTERM, signal.SIGINT):
            command = [harness.program("vfsd"), "--listen=127.0.0.1:0", "--metrics=off", f"--snapshot={fifo}"]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as starting:
                try:
                    for line in starting.stderr:
                        if "loading snapshot" in line:
                            break
                    starting.send_signal(number)
                    _, rest = starting.communicate(timeout=harness.DEADLINE_SECONDS)
                finally:
                    starting.kill()
            self.assertEqual(starting.returncode, 128 + number, rest)
            self.assertIn("ended before serving", rest)

    def test_health_says_no_where_nobody_serves(self):
        self.assertNotEqual(vfsctl(f"127.0.0.1:{harness.free_port()}", "health").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
