"""Python modules of the API, generated for the test that imports this.

Needs Debian's protobuf and gRPC packages for Python.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile

import google

import harness

_PROTOS = ("vfs/v1/vfs.proto", "vfs/v1/admin.proto", "google/rpc/status.proto", "google/rpc/error_details.proto")


def _generate() -> None:
    folder = tempfile.mkdtemp(prefix="vfsd-stubs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = ["protoc", f"-I{harness.PROTO}", f"--python_out={folder}", f"--grpc_out={folder}"]
    command += [f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}", *_PROTOS]
    subprocess.run(command, check=True)
    sys.path.insert(0, folder)
    # Debian's google package is a regular one; let it have our google.rpc too.
    google.__path__.append(os.path.join(folder, "google"))


_generate()

from google.rpc import error_details_pb2, status_pb2  # noqa: E402, F401
from vfs.v1 import admin_pb2, admin_pb2_grpc, vfs_pb2, vfs_pb2_grpc  # noqa: E402, F401
