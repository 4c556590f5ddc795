// A message of many operations, built step by step.
//
// An operation that opens a file gives back its index in the message; later
// operations of the same message may use that file before anyone knows its
// handle:
//
//   Batch batch;
//   OperationIndex opened = batch.Open("/etc/passwd", 0);
//   batch.Stat(opened);
//   batch.Close(opened);
//
// Owned by the caller, reusable after Clear, one thread at a time.
#ifndef CLIENT_LIB_BATCH_H_
#define CLIENT_LIB_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "client/lib/session.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsclient {

// An operation's place in its message, counted from 0.
struct OperationIndex {
  uint32_t value = 0;
  friend bool operator==(OperationIndex, OperationIndex) = default;
};

// An open file: one that is known, or one that an earlier operation of the same
// message opens.
using FileReference = std::variant<Handle, OperationIndex>;

// A group's place among the groups of its message, counted from 0.
struct GroupIndex {
  uint32_t value = 0;
  friend bool operator==(GroupIndex, GroupIndex) = default;
};

// Open files: known ones, or those that an earlier group of the message opens.
using FilesReference = std::variant<std::span<const Handle>, GroupIndex>;

class Batch {
 public:
  // Many operations of a kind, in columns: several times cheaper than one by
  // one. They run after the single operations, group by group, and their
  // results are in the response's `groups`. Each counts as one operation.
  GroupIndex OpenAll(std::span<const std::string_view> paths, uint32_t flags,
                     uint32_t mode = 0);
  GroupIndex CloseAll(FilesReference files);
  // mask: STATX_*; only those fields come back.
  GroupIndex StatAll(std::span<const std::string_view> paths, uint32_t mask,
                     uint32_t flags = 0);
  GroupIndex StatAll(FilesReference files, uint32_t mask);
  GroupIndex AccessAll(std::span<const std::string_view> paths, uint32_t mode);
  GroupIndex ReadAll(FilesReference files, int64_t offset, uint32_t size);

  OperationIndex Open(std::string_view path, uint32_t flags, uint32_t mode = 0);
  OperationIndex Close(FileReference file);
  OperationIndex Stat(std::string_view path, uint32_t flags = 0);
  // fstat(2).
  OperationIndex Stat(FileReference file);
  OperationIndex Access(std::string_view path, uint32_t mode);
  OperationIndex Read(FileReference file, int64_t offset, uint32_t size);
  OperationIndex ReadDirectory(FileReference directory);
  OperationIndex MakeDirectory(std::string_view path, uint32_t mode);
  OperationIndex Unlink(std::string_view path, uint32_t flags = 0);
  OperationIndex Rename(std::string_view old_path, std::string_view new_path,
                        uint32_t flags = 0);
  // Any operation; indexes in it count from the start of the message.
  OperationIndex Add(const vfs::v1::BatchOperation& operation);

  // After the first error the rest is not run, and is ECANCELED.
  void set_stop_on_error(bool stop) { request_.set_stop_on_error(stop); }
  // Single operations.
  size_t size() const {
    return static_cast<size_t>(request_.operations_size());
  }
  void Clear() { request_.Clear(); }

  const vfs::v1::BatchRequest& request() const { return request_; }
  vfs::v1::BatchRequest* mutable_request() { return &request_; }

 private:
  GroupIndex LastGroup() const {
    return {static_cast<uint32_t>(request_.groups_size() - 1)};
  }
  OperationIndex Last() const {
    return {static_cast<uint32_t>(request_.operations_size() - 1)};
  }

  vfs::v1::BatchRequest request_;
};

// Makes an operation (Close, Read; or as its directory: Open, Stat, Access,
// ReadDirectory, MakeDirectory, Unlink, both sides of Rename) refer to `file`.
void SetFile(FileReference file, vfs::v1::BatchOperation* operation);

}  // namespace vfsclient

#endif  // CLIENT_LIB_BATCH_H_
