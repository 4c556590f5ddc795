#!/usr/bin/python3
"""Holds the style of proto/vfs: buf's and Google AIP's rules, and comments.

Works on the descriptors that protoc makes, not on the text. Method names keep
their POSIX verbs (Open, Stat), which AIP-136 would not have; everything else is
held here because no linter for it is packaged.
"""

import pathlib
import re
import subprocess
import tempfile
from typing import Iterator

from google.protobuf import descriptor_pb2

import lint

_PASCAL = re.compile(r"^[A-Z][A-Za-z0-9]*$")
_SNAKE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
_UPPER = re.compile(r"^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$")

# Field numbers of FileDescriptorProto and its parts, which locations are
# addressed by (google/protobuf/descriptor.proto).
_MESSAGE, _ENUM, _SERVICE = 4, 5, 6
_FIELD, _ONEOF, _NESTED = 2, 8, 3
_VALUE, _METHOD = 2, 2


def _upper_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


class _File:
    """One file's descriptor and what is said about its elements."""

    def __init__(self, proto: descriptor_pb2.FileDescriptorProto):
        self.proto = proto
        self._comments: dict[tuple[int, ...], str] = {}
        self._lines: dict[tuple[int, ...], tuple[int, int]] = {}
        for location in proto.source_code_info.location:
            path = tuple(location.path)
            self._comments[path] = location.leading_comments + location.trailing_comments
            # A span has three numbers when it ends on the line it starts on.
            span = location.span
            self._lines[path] = (span[0] + 1, (span[2] if len(span) == 4 else span[0]) + 1)

    def comment(self, path: tuple[int, ...]) -> str:
        return self._comments.get(path, "").strip()

    def first_line(self, path: tuple[int, ...]) -> int:
        return self._lines[path][0]

    def last_line(self, path: tuple[int, ...]) -> int:
        return self._lines[path][1]

    def at(self, path: tuple[int, ...], text: str) -> str:
        return f"proto/{self.proto.name}:{self.first_line(path)}: {text}"


def _message(file: _File, path: tuple[int, ...], message: descriptor_pb2.DescriptorProto) -> Iterator[str]:
    if not _PASCAL.match(message.name):
        yield file.at(path, f"message {message.name} is not PascalCase")
    if not file.comment(path):
        yield file.at(path, f"message {message.name} has no comment")
    if message.enum_type:
        yield file.at(path, f"message {message.name} nests an enum; enums are declared at the top")
    for index, oneof in enumerate(message.oneof_decl):
        synthetic = any(f.proto3_optional and f.oneof_index == index for f in message.field)
        if synthetic:
            continue
        if not _SNAKE.match(oneof.name):
            yield file.at(path + (_ONEOF, index), f"oneof {oneof.name} is not lower_snake_case")
        if not file.comment(path + (_ONEOF, index)):
            yield file.at(path + (_ONEOF, index), f"oneof {message.name}.{oneof.name} has no comment")
    # A comment covers the fields of its oneof, and those that follow without
    # an empty line between (seconds and nanoseconds of one time).
    covered_line = -1
    for index, field in enumerate(message.field):
        field_path = path + (_FIELD, index)
        name = f"{message.name}.{field.name}"
        if not _SNAKE.match(field.name):
            yield file.at(field_path, f"field {name} is not lower_snake_case")
        if field.name.startswith("is_"):
            yield file.at(field_path, f"field {name}: booleans have no is_")
        in_oneof = field.HasField("oneof_index") and not field.proto3_optional
        follows = file.first_line(field_path) == covered_line + 1
        if file.comment(field_path) or in_oneof or follows:
            covered_line = file.last_line(field_path)
        else:
            yield file.at(field_path, f"field {name} has no comment")
    for index, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from _message(file, path + (_NESTED, index), nested)


def _enum(file: _File, path: tuple[int, ...], enum: descriptor_pb2.EnumDescriptorProto) -> Iterator[str]:
    prefix = _upper_snake(enum.name) + "_"
    if not _PASCAL.match(enum.name):
        yield file.at(path, f"enum {enum.name} is not PascalCase")
    if not file.comment(path):
        yield file.at(path, f"enum {enum.name} has no comment")
    if enum.value[0].number != 0 or enum.value[0].name != prefix + "UNSPECIFIED":
        yield file.at(path, f"enum {enum.name} does not start with {prefix}UNSPECIFIED = 0")
    for index, value in enumerate(enum.value):
        if not _UPPER.match(value.name) or not value.name.startswith(prefix):
            yield file.at(path + (_VALUE, index), f"{value.name} does not start with {prefix}")


def _service(file: _File, path: tuple[int, ...], service: descriptor_pb2.ServiceDescriptorProto) -> Iterator[str]:
    if not _PASCAL.match(service.name) or not service.name.endswith("Service"):
        yield file.at(path, f"service {service.name} is not called …Service")
    if not file.comment(path):
        yield file.at(path, f"service {service.name} has no comment")
    for index, method in enumerate(service.method):
        method_path = path + (_METHOD, index)
        if not _PASCAL.match(method.name):
            yield file.at(method_path, f"rpc {method.name} is not PascalCase")
        for kind, given in (("Request", method.input_type), ("Response", method.output_type)):
            if given != f".{file.proto.package}.{method.name}{kind}":
                yield file.at(method_path, f"rpc {method.name} has {given}, not its own {method.name}{kind}")
        comment = file.comment(method_path)
        streaming = method.client_streaming or method.server_streaming
        if not comment:
            yield file.at(method_path, f"rpc {method.name} has no comment")
        elif not streaming and not re.search(r"idempotent", comment, re.IGNORECASE):
            yield file.at(method_path, f"rpc {method.name} does not say whether it is idempotent")


def _file_findings(file: _File) -> Iterator[str]:
    proto = file.proto
    folder, name = proto.name.rsplit("/", 1)
    if proto.package != folder.replace("/", "."):
        yield f"proto/{proto.name}:1: package {proto.package} is not the folder's {folder}"
    if not _SNAKE.match(name.removesuffix(".proto")):
        yield f"proto/{proto.name}:1: file name is not lower_snake_case"
    if proto.syntax != "proto3":
        yield f"proto/{proto.name}:1: syntax is not proto3"
    for index, service in enumerate(proto.service):
        yield from _service(file, (_SERVICE, index), service)
    for index, message in enumerate(proto.message_type):
        yield from _message(file, (_MESSAGE, index), message)
    for index, enum in enumerate(proto.enum_type):
        yield from _enum(file, (_ENUM, index), enum)


def check(root: pathlib.Path) -> list[str]:
    folder = root / "proto"
    names = [path.relative_to(folder).as_posix() for path in lint.files(folder / "vfs", (".proto",))]
    if not names:
        return ["proto/vfs:1: no .proto file"]
    with tempfile.NamedTemporaryFile() as out:
        result = subprocess.run(
            ["protoc", f"-I{folder}", "--include_source_info", f"--descriptor_set_out={out.name}", *names],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            return result.stderr.splitlines()
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    return [finding for proto in files.file for finding in _file_findings(_File(proto))]


_GOOD = """// A service.
syntax = "proto3";
package vfs.v1;
// Serves.
service AService {
  // Gets. Idempotent.
  rpc Get(GetRequest) returns (GetResponse);
}
// Asks.
message GetRequest {
  // Where.
  oneof dir {
    fixed64 dir_handle = 1;
    uint32 dir_operation = 2;
  }
  // When: seconds and nanoseconds.
  sfixed64 atime_seconds = 3;
  fixed32 atime_nanoseconds = 4;
  // Perhaps.
  optional uint32 umask = 5;
}
// Answers.
message GetResponse {}
// Kinds.
enum FileKind {
  FILE_KIND_UNSPECIFIED = 0;
  FILE_KIND_PLAIN = 1;
}
"""


def _spoiled(old: str, new: str, finding: str) -> lint.Sample:
    assert old in _GOOD
    return lint.Sample({"proto/vfs/v1/a.proto": _GOOD.replace(old, new)}, finding)


SAMPLES = [
    lint.Sample({"proto/vfs/v1/a.proto": _GOOD}, None),
    lint.Sample({"proto/vfs/v1/A.proto": _GOOD}, "file name is not lower_snake_case"),
    _spoiled("package vfs.v1", "package vfs.v2", "is not the folder's"),
    _spoiled("AService", "AServer", "is not called …Service"),
    _spoiled("returns (GetResponse)", "returns (GetRequest)", "not its own GetResponse"),
    _spoiled("  // Gets. Idempotent.\n", "", "rpc Get has no comment"),
    _spoiled("Gets. Idempotent.", "Gets.", "whether it is idempotent"),
    _spoiled("// Answers.\n", "", "message GetResponse has no comment"),
    _spoiled("  // Where.\n", "", "oneof GetRequest.dir has no comment"),
    _spoiled("  // When: seconds and nanoseconds.\n", "\n", "atime_seconds has no comment"),
    _spoiled("atime_nanoseconds", "atimeNanoseconds", "not lower_snake_case"),
    _spoiled("umask", "is_umask", "no is_"),
    _spoiled("FILE_KIND_PLAIN", "PLAIN", "does not start with FILE_KIND_"),
    _spoiled("FILE_KIND_UNSPECIFIED", "FILE_KIND_NONE", "FILE_KIND_UNSPECIFIED"),
    _spoiled("message GetRequest {", "message GetRequest { enum E { E_UNSPECIFIED = 0; }", "nests an enum"),
]

if __name__ == "__main__":
    lint.run(check, SAMPLES, "See buf's style guide and google.aip.dev.")
