#!/usr/bin/python3
"""Holds the house's floors: who may include what (README, "The house").

Packaged headers lie in the system's include path, so they compile whatever the
build files say; this lint is what keeps gRPC, prometheus-cpp and liburcu in
their rooms.
"""

import pathlib
import re
from typing import NamedTuple, Optional

import lint

# A folder includes itself and folders of lower floors. Folders of one floor do
# not include each other.
FLOORS = {
    "server/base": 0,
    "server/sync": 1,
    "server/vfs": 2,
    "server/fs/mem": 3,
    "server/fs/proc": 3,
    "server/storage": 4,
    "server/rpc": 5,
    "server/metrics": 5,
    "server/main": 6,
    "client/lib": 0,
    "client/load": 1,
    "client/ctl": 1,
}


class Room(NamedTuple):
    """A library that only some folders may use."""

    name: str
    include: re.Pattern[str]
    names: re.Pattern[str]  # How code that uses it looks.
    folders: tuple[str, ...]


ROOMS = (
    Room(
        "gRPC and vfs.v1",
        re.compile(r"(grpc|grpcpp|google|vfs/v1)/"),
        re.compile(r"\b(grpc|grpc_impl|vfs::v1|google::(protobuf|rpc))::"),
        ("server/rpc", "client"),
    ),
    Room(
        "prometheus-cpp and civetweb",
        re.compile(r"prometheus/|[Cc]ivet"),
        re.compile(r"\bprometheus::|\bmg_[a-z_]+\(|\bCivetServer\b"),
        ("server/metrics", "client/load"),
    ),
    Room(
        "liburcu",
        re.compile(r"urcu"),
        re.compile(r"\b(urcu_\w+|call_rcu|synchronize_rcu|rcu_read_lock)\b"),
        ("server/sync",),
    ),
)

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
_LITERAL_OR_COMMENT = re.compile(r'//.*|"(?:\\.|[^"\\])*"|/\*.*?\*/')


def folder_of(path: str) -> Optional[str]:
    """The floor's folder that a path of the project lies in."""
    best = None
    for folder in FLOORS:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def _include_finding(own: str, form: str, included: str) -> Optional[str]:
    if included.startswith(("server/", "client/")):
        other = folder_of(included)
        if other is None:
            return f"{included} lies in no folder that has a floor"
        if own.split("/")[0] != other.split("/")[0]:
            return f"{own} includes {included}: client and server never include each other"
        if other != own and FLOORS[other] >= FLOORS[own]:
            return f"{own} (floor {FLOORS[own]}) includes {included} (floor {FLOORS[other]})"
        return None
    for room in ROOMS:
        if room.include.match(included) and not own.startswith(room.folders):
            return f"{own} includes {included}: {room.name} only in {', '.join(room.folders)}"
    if form == '"' and (included.startswith(".") or "/" not in included):
        return f'"{included}": include our own files by their path from the root'
    return None


def check(root: pathlib.Path) -> list[str]:
    findings = []
    for path in lint.cxx_files(root):
        name = path.relative_to(root).as_posix()
        if not name.startswith(("server/", "client/")):
            continue
        own = folder_of(name)
        if own is None:
            findings.append(f"{name}:1: lies in no folder that has a floor")
            continue
        for number, line in enumerate((lint.text_of(path) or "").splitlines(), 1):
            include = _INCLUDE.match(line)
            if include:
                finding = _include_finding(own, include.group(1), include.group(2))
            else:
                code = _LITERAL_OR_COMMENT.sub("", line)
                finding = next(
                    (
                        f"{own} uses {room.name}, which only {', '.join(room.folders)} may"
                        for room in ROOMS
                        if room.names.search(code) and not own.startswith(room.folders)
                    ),
                    None,
                )
            if finding:
                findings.append(f"{name}:{number}: {finding}")
    return findings


def _sample(path: str, line: str, finding: Optional[str]) -> lint.Sample:
    return lint.Sample({path: line + "\n"}, finding)


SAMPLES = [
    _sample("server/vfs/walk.cc", '#include "server/sync/rcu.h"', None),
    _sample("server/vfs/walk.cc", '#include "server/vfs/dentry.h"', None),
    _sample("server/rpc/stat.cc", "#include <grpcpp/grpcpp.h>", None),
    _sample("server/rpc/stat.cc", '#include "vfs/v1/vfs.pb.h"', None),
    _sample("client/load/metrics.cc", "#include <prometheus/registry.h>", None),
    _sample("server/vfs/walk.cc", "// grpc::Status is not for us", None),
    _sample("server/vfs/walk.cc", '#include "server/fs/mem/tree.h"', "floor 3"),
    _sample("server/fs/mem/tree.cc", '#include "server/fs/proc/entry.h"', "floor 3"),
    _sample("server/rpc/stat.cc", '#include "server/metrics/page.h"', "floor 5"),
    _sample("server/metrics/page.cc", '#include "server/rpc/service.h"', "floor 5"),
    _sample("client/ctl/main.cc", '#include "server/base/errno.h"', "never include each other"),
    _sample("client/ctl/main.cc", '#include "client/load/run.h"', "floor 1"),
    _sample("server/vfs/walk.cc", "#include <grpcpp/grpcpp.h>", "gRPC"),
    _sample("server/storage/import.cc", '#include "vfs/v1/vfs.pb.h"', "gRPC"),
    _sample("server/vfs/walk.cc", "grpc::Status Walk();", "gRPC"),
    _sample("server/rpc/page.cc", "#include <prometheus/registry.h>", "prometheus-cpp"),
    _sample("client/lib/channel.cc", "#include <CivetServer.h>", "prometheus-cpp"),
    _sample("server/vfs/walk.cc", "#include <urcu/urcu-memb.h>", "liburcu"),
    _sample("server/vfs/walk.cc", "  urcu_memb_read_lock();", "liburcu"),
    _sample("server/vfs/walk.cc", '#include "dentry.h"', "path from the root"),
    _sample("server/vfs/walk.cc", '#include "absl/synchronization/mutex.h"', None),
    _sample("server/attic/old.cc", "int old;", "no folder that has a floor"),
]

if __name__ == "__main__":
    lint.run(check, SAMPLES, "Move the code to its floor, or pass an interface down to it.")
