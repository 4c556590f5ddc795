#!/usr/bin/python3
"""Clients that do not read their answers, or send faster than the server works:
the server's memory stays bounded, and others are served as before.
"""

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc

import harness
import stubs

MEBIBYTE = 1 << 20
STATX_BASIC_STATS = 0x7FF

# Asks for many large pages at once and stops reading: itself, all of it.
GREEDY = """
import os, signal, sys
import grpc, harness, stubs
target, calls = sys.argv[1], int(sys.argv[2])
stub = stubs.vfs_pb2_grpc.VfsServiceStub(grpc.insecure_channel(target))
session = stub.OpenSession(stubs.vfs_pb2.OpenSessionRequest(credentials=stubs.vfs_pb2.Credentials(uid=0))).session
request = stubs.vfs_pb2.ReadDirectoryRequest(
    session=session, path="/", page_size=10000, with_attributes=True, mask=0x7FF)
futures = [stub.ReadDirectory.future(request) for _ in range(calls)]
print("asked", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


class BackPressure(unittest.TestCase):
    def setUp(self):
        tree = tempfile.TemporaryDirectory()
        self.addCleanup(tree.cleanup)
        pathlib.Path(tree.name).chmod(0o755)
        for i in range(10000):
            (pathlib.Path(tree.name) / f"file-{i:05}-with-a-name-of-some-length").touch()
        self.server = self.enterContext(harness.Server("--import", tree.name))
        self.channel = grpc.insecure_channel(self.server.target)
        self.addCleanup(self.channel.close)
        self.stub = stubs.vfs_pb2_grpc.VfsServiceStub(self.channel)
        credentials = stubs.vfs_pb2.Credentials(uid=0)
        request = stubs.vfs_pb2.OpenSessionRequest(credentials=credentials)
        self.session = self.stub.OpenSession(request, timeout=60).session
        # What the first use of everything takes is no growth.
        for _, _ in zip(range(8), self.stub.Batch(iter([self.large_batch()] * 8), timeout=120)):
            pass

    def large_batch(self):
        stat = stubs.vfs_pb2.StatRequest(path="/", mask=STATX_BASIC_STATS)
        operation = stubs.vfs_pb2.BatchOperation(stat=stat)
        return stubs.vfs_pb2.BatchRequest(session=self.session, operations=[operation] * 10000)

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.server.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def assert_grew_by_less(self, grown, limit):
        if harness.is_sanitized("vfsd"):
            print(f"a sanitizer's build: {grown >> 20} MiB are not judged")
        else:
            self.assertLess(grown, limit)

    def assert_others_are_served(self):
        with grpc.insecure_channel(self.server.target) as channel:
            other = stubs.vfs_pb2_grpc.VfsServiceStub(channel)
            for _ in range(20):
                other.Stat(stubs.vfs_pb2.StatRequest(path="/"), timeout=60)

    def settled(self, value):
        """The value, once it no longer rises."""
        last = value()
        while True:
            time.sleep(0.5)
            now = value()
            if now == last:
                return now
            last = now

    def test_a_stream_whose_answers_are_not_read(self):
        before = self.memory()
        taken = itertools.count()
        sent = 0
        stop = threading.Event()
        batch = self.large_batch()

        def messages():
            nonlocal sent
            while not stop.is_set():
                sent = next(taken)
                yield batch

        call = self.stub.Batch(messages())
        stuck_at = self.settled(lambda: sent)
        # An answer is larger than a megabyte: flow control holds the sender back.
        # How many requests are on their way by then is the kernel's choice, which
        # lets socket buffers grow (112 were seen on a busy machine); without flow
        # control there is no end to them.
        self.assertLess(stuck_at, 200)
        self.assert_grew_by_less(self.memory() - before, 96 * MEBIBYTE)
        self.assert_others_are_served()
        # It goes on where it was when the client reads.
        for _ in range(20):
            self.assertEqual(len(next(call).results), 10000)
        stop.set()
        call.cancel()

    def test_a_stream_that_sends_faster_than_the_server_works(self):
        before = self.memory()
        highest = 0
        batch = self.large_batch()
        for number, response in enumerate(self.stub.Batch(itertools.repeat(batch, 150), timeout=300)):
            self.assertEqual(len(response.results), 10000)
            if number % 10 == 0:
                highest = max(highest, self.memory())
        self.assert_grew_by_less(highest - before, 96 * MEBIBYTE)
        self.assert_others_are_served()

    def test_single_calls_whose_large_answers_are_not_read(self):
        before = self.memory()
        # Of more than a megabyte each. A sanitizer's build, whose memory is not
        # judged, takes minutes for as many.
        calls = 100 if harness.is_sanitized("vfsd") else 600
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
        with subprocess.Popen(
            [sys.executable, "-c", GREEDY, self.server.target, str(calls)],
            stdout=subprocess.PIPE, env=environment,
        ) as greedy:
            try:
                self.assertEqual(greedy.stdout.readline(), b"asked\n")
                os.waitpid(greedy.pid, os.WUNTRACED)
                highest = self.settled(lambda: self.memory() // MEBIBYTE) * MEBIBYTE
                self.assert_grew_by_less(highest - before, 320 * MEBIBYTE)
                self.assert_others_are_served()
            finally:
                os.kill(greedy.pid, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
