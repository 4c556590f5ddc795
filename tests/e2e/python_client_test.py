#!/usr/bin/python3
"""A client in another language: Python, with stubs made from the .proto files.

What the client lib takes for granted is checked here from outside: paths, the
three ways to name a file, errors as a foreign client sees them, batches.
"""

import pathlib
import tempfile
import unittest

import grpc

import harness
import stubs

AT_EMPTY_PATH = 0x1000
O_DIRECTORY = 0o200000
STATX_BASIC_STATS = 0x7FF
ECANCELED = 125
ENOENT = 2


class PythonClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.status_pb2, cls.error_details_pb2, cls.vfs = stubs.status_pb2, stubs.error_details_pb2, stubs.vfs_pb2

        cls._tree = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._tree.cleanup)
        tree = pathlib.Path(cls._tree.name)
        tree.chmod(0o755)  # The anonymous caller must get in.
        (tree / "folder").mkdir()
        (tree / "folder" / "file").write_bytes(b"twelve bytes")
        (tree / "folder" / "file").chmod(0o640)

        cls.server = cls.enterClassContext(harness.Server("--import", cls._tree.name))
        cls.channel = grpc.insecure_channel(cls.server.target)
        cls.addClassCleanup(cls.channel.close)
        cls.stub = stubs.vfs_pb2_grpc.VfsServiceStub(cls.channel)

    def setUp(self):
        credentials = self.vfs.Credentials(uid=0, gid=0)
        opened = self.stub.OpenSession(self.vfs.OpenSessionRequest(credentials=credentials), timeout=60)
        self.session = opened.session
        self.session_number = opened.session_number
        self.assertNotEqual(self.session, 0)

    def tearDown(self):
        self.stub.CloseSession(self.vfs.CloseSessionRequest(session=self.session), timeout=60)

    def open(self, path, flags=0):
        return self.stub.Open(self.vfs.OpenRequest(session=self.session, path=path, flags=flags), timeout=60).handle

    def stat(self, **fields):
        request = self.vfs.StatRequest(session=self.session, mask=STATX_BASIC_STATS, **fields)
        return self.stub.Stat(request, timeout=60)

    def error_of(self, call):
        """The canonical code, and the reason and domain of the status details."""
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        error = raised.exception
        details = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
        self.assertEqual(len(details), 1, error)
        status = self.status_pb2.Status.FromString(details[0])
        self.assertEqual(status.code, error.code().value[0])
        self.assertEqual(len(status.details), 1)
        info = self.error_details_pb2.ErrorInfo()
        self.assertTrue(status.details[0].Unpack(info), status)
        return error.code(), info.reason, info.domain

    def test_stat_by_path(self):
        reply = self.stat(path="/folder/file")
        self.assertEqual(reply.size, 12)
        self.assertEqual(reply.mode, 0o100640)
        self.assertEqual(reply.nlink, 1)
        self.assertEqual(reply.mask & STATX_BASIC_STATS, STATX_BASIC_STATS)

    def test_stat_by_path_needs_no_session(self):
        reply = self.stub.Stat(self.vfs.StatRequest(path="/folder", mask=STATX_BASIC_STATS), timeout=60)
        self.assertEqual(reply.mode & 0o170000, 0o040000)

    def test_stat_by_handle_with_empty_and_with_no_path(self):
        handle = self.open("/folder/file")
        by_path = self.stat(path="/folder/file")
        empty = self.stat(dir_handle=handle, path="", flags=AT_EMPTY_PATH)
        absent = self.stat(dir_handle=handle, flags=AT_EMPTY_PATH)
        self.assertEqual(empty, by_path)
        self.assertEqual(absent, by_path)

    def test_an_empty_path_without_the_flag_is_enoent_and_an_absent_one_efault(self):
        handle = self.open("/folder/file")
        self.assertEqual(self.error_of(lambda: self.stat(dir_handle=handle, path=""))[1], "ENOENT")
        self.assertEqual(self.error_of(lambda: self.stat(dir_handle=handle))[1], "EFAULT")

    def test_paths_are_relative_to_a_directory_handle(self):
        handle = self.open("/folder", O_DIRECTORY)
        self.assertEqual(self.stat(dir_handle=handle, raw_path=b"file"), self.stat(path="/folder/file"))

    def test_reads_a_synthetic_file(self):
        handle = self.open("/proc/version")
        data = self.stub.Read(self.vfs.ReadRequest(session=self.session, handle=handle, size=4096), timeout=60).data
        self.assertIn(b"vfsd", data)
        handle = self.open(f"/proc/{self.session_number}/status")
        data = self.stub.Read(self.vfs.ReadRequest(session=self.session, handle=handle, size=4096), timeout=60).data
        self.assertTrue(data)

    def test_a_missing_file_is_not_found_with_the_reason_enoent(self):
        code, reason, domain = self.error_of(lambda: self.open("/folder/missing"))
        self.assertEqual((code, reason, domain), (grpc.StatusCode.NOT_FOUND, "ENOENT", "vfs.v1"))

    def test_errors_in_band(self):
        request = self.vfs.OpenSessionRequest(errors_in_band=True)
        session = self.stub.OpenSession(request, timeout=60).session
        reply = self.stub.Open(self.vfs.OpenRequest(session=session, path="/missing"), timeout=60)
        self.assertEqual((reply.errno_code, reply.handle), (ENOENT, 0))
        self.stub.CloseSession(self.vfs.CloseSessionRequest(session=session), timeout=60)

    def test_a_session_that_is_unknown_says_so(self):
        request = self.vfs.OpenRequest(session=self.session ^ 1, path="/folder")
        code, reason, _ = self.error_of(lambda: self.stub.Open(request, timeout=60))
        self.assertEqual((code, reason), (grpc.StatusCode.UNAUTHENTICATED, "SESSION_EXPIRED"))

    def test_a_chained_batch(self):
        vfs = self.vfs
        operations = [
            vfs.BatchOperation(open=vfs.OpenRequest(path="/folder", flags=O_DIRECTORY)),
            vfs.BatchOperation(open=vfs.OpenRequest(dir_operation=0, path="file")),
            vfs.BatchOperation(stat=vfs.StatRequest(dir_operation=1, path="", flags=AT_EMPTY_PATH, mask=0x7FF)),
            vfs.BatchOperation(close=vfs.CloseRequest(handle_operation=1)),
            vfs.BatchOperation(open=vfs.OpenRequest(dir_operation=0, path="missing")),
            vfs.BatchOperation(close=vfs.CloseRequest(handle_operation=4)),
            vfs.BatchOperation(close=vfs.CloseRequest(handle_operation=0)),
        ]
        requests = [vfs.BatchRequest(session=self.session, operations=operations)] * 3
        replies = list(self.stub.Batch(iter(requests), timeout=60))
        self.assertEqual(len(replies), 3)
        for reply in replies:
            errors = [result.errno_code for result in reply.results]
            self.assertEqual(errors, [0, 0, 0, 0, ENOENT, ECANCELED, 0])
            self.assertEqual(reply.results[2].stat, self.stat(path="/folder/file"))

    def test_a_batch_stops_at_its_first_error_when_asked(self):
        vfs = self.vfs
        operations = [
            vfs.BatchOperation(stat=vfs.StatRequest(path="/folder")),
            vfs.BatchOperation(stat=vfs.StatRequest(path="/missing")),
            vfs.BatchOperation(stat=vfs.StatRequest(path="/folder")),
        ]
        request = vfs.BatchRequest(session=self.session, stop_on_error=True, operations=operations)
        (reply,) = self.stub.Batch(iter([request]), timeout=60)
        self.assertEqual([result.errno_code for result in reply.results], [0, ENOENT, ECANCELED])

    def test_a_closed_handle_is_ebadf(self):
        handle = self.open("/folder/file")
        close = self.vfs.CloseRequest(session=self.session, handle=handle)
        self.stub.Close(close, timeout=60)
        self.assertEqual(self.error_of(lambda: self.stub.Close(close, timeout=60))[1], "EBADF")

    def test_lists_a_directory(self):
        reply = self.stub.ReadDirectory(
            self.vfs.ReadDirectoryRequest(session=self.session, path="/folder"), timeout=60
        )
        self.assertEqual([entry.name for entry in reply.entries], ["file"])

    def call_raw(self, method, request, streaming=False):
        """A call of a method whose stubs are not generated here."""
        make = self.channel.stream_stream if streaming else self.channel.unary_unary
        call = make(method, request_serializer=bytes, response_deserializer=bytes)
        return list(call(iter([request]), timeout=60)) if streaming else call(request, timeout=60)

    def test_the_standard_health_service_says_serving(self):
        # HealthCheckResponse{status: SERVING}
        self.assertEqual(self.call_raw("/grpc.health.v1.Health/Check", b""), b"\x08\x01")

    def test_reflection_names_the_services(self):
        # ServerReflectionRequest{list_services: "*"}: what grpcurl starts with.
        method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        (reply,) = self.call_raw(method, b"\x3a\x01*", streaming=True)
        self.assertIn(b"vfs.v1.VfsService", reply)
        self.assertIn(b"vfs.v1.AdminService", reply)

    def test_the_session_closes_its_handles(self):
        session = self.stub.OpenSession(self.vfs.OpenSessionRequest(), timeout=60).session
        for _ in range(3):
            self.stub.Open(self.vfs.OpenRequest(session=session, path="/folder"), timeout=60)
        closed = self.stub.CloseSession(self.vfs.CloseSessionRequest(session=session), timeout=60)
        self.assertEqual(closed.closed_handles, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
