// What the request decoder read, compared with what the generated classes read
// from the same bytes. Differences are GoogleTest failures: unit tests and the
// fuzzer share this.
#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "server/rpc/operation_api.h"
#include "server/rpc/request_decoder.h"
#include "server/vfs/linux_abi.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {

namespace v1 = ::vfs::v1;

inline constexpr size_t kMaxOperations = 1000;

// Fields that the operation keeps under the message's own name. Of an optional
// one also whether it is set.
#define VFSD_EXPECT_FIELD(object, field)                        \
  if constexpr (requires { message.has_##field(); }) {          \
    EXPECT_EQ(object.field.has_value(), message.has_##field()); \
    EXPECT_EQ(object.field.value_or(0), message.field());       \
  } else if constexpr (requires { message.field(); }) {         \
    EXPECT_EQ(object.field, message.field());                   \
  }

template <typename Handle>
inline void ExpectHandle(const Handle& handle,
                         const OperationReference& reference, bool has_handle,
                         uint64_t expected_handle, bool has_reference,
                         uint32_t expected_reference) {
  if constexpr (std::is_same_v<Handle, vfs::DirectoryArgument>) {
    EXPECT_EQ(handle.has_value(), has_handle);
  }
  EXPECT_EQ(reference.has_value(), has_reference);
  if (has_handle) {
    EXPECT_EQ(handle, expected_handle);
  }
  if (has_reference) {
    EXPECT_EQ(reference, expected_reference);
  }
}

inline void ExpectPath(const vfs::PathArgument& path, bool has_text,
                       const std::string& text, bool has_raw,
                       const std::string& raw) {
  ASSERT_EQ(path.has_value(), has_text || has_raw);
  if (has_text) {
    EXPECT_EQ(*path, text);
  }
  if (has_raw) {
    EXPECT_EQ(*path, raw);
  }
}

inline void ExpectTime(const vfs::TimeChange& time, bool is_set,
                       int64_t seconds, uint32_t nanoseconds, bool now) {
  using Kind = vfs::TimeChange::Kind;
  EXPECT_EQ(time.kind, now ? Kind::kNow : is_set ? Kind::kSet : Kind::kOmit);
  if (time.kind != Kind::kSet) return;
  EXPECT_EQ(time.seconds, seconds);
  EXPECT_EQ(time.nanoseconds, nanoseconds);
}

template <typename Operation>
inline void ExpectSame(const OperationRequest<Operation>& request,
                       const typename OperationApi<Operation>::Request& message,
                       const std::vector<ClaimedCredentials>& credentials) {
  const Operation& operation = request.operation;
  VFSD_EXPECT_FIELD(request, session)
  VFSD_EXPECT_FIELD(operation, flags)
  VFSD_EXPECT_FIELD(operation, mode)
  VFSD_EXPECT_FIELD(operation, mask)
  VFSD_EXPECT_FIELD(operation, offset)
  VFSD_EXPECT_FIELD(operation, page_size)
  VFSD_EXPECT_FIELD(operation, cursor)
  VFSD_EXPECT_FIELD(operation, with_attributes)
  VFSD_EXPECT_FIELD(operation, request_id)
  VFSD_EXPECT_FIELD(request, size)
  if constexpr (requires { message.dir_handle(); }) {
    ExpectHandle(operation.dir, request.reference, message.has_dir_handle(),
                 message.dir_handle(), message.has_dir_operation(),
                 message.dir_operation());
  }
  if constexpr (requires { message.handle(); }) {
    ExpectHandle(operation.handle, request.reference, message.has_handle(),
                 message.handle(), message.has_handle_operation(),
                 message.handle_operation());
  }
  if constexpr (requires { message.path(); }) {
    ExpectPath(operation.path, message.has_path(), message.path(),
               message.has_raw_path(), message.raw_path());
  }
  if constexpr (requires { message.old_path(); }) {
    ExpectHandle(operation.old_dir, request.reference,
                 message.has_old_dir_handle(), message.old_dir_handle(),
                 message.has_old_dir_operation(), message.old_dir_operation());
    ExpectHandle(operation.new_dir, request.new_reference,
                 message.has_new_dir_handle(), message.new_dir_handle(),
                 message.has_new_dir_operation(), message.new_dir_operation());
    ExpectPath(operation.old_path, message.has_old_path(), message.old_path(),
               message.has_raw_old_path(), message.raw_old_path());
    ExpectPath(operation.new_path, message.has_new_path(), message.new_path(),
               message.has_raw_new_path(), message.raw_new_path());
  }
  if constexpr (requires { message.target(); }) {
    ExpectPath(operation.target, message.has_target(), message.target(),
               message.has_raw_target(), message.raw_target());
  }
  if constexpr (requires { message.rdev_major(); }) {
    EXPECT_EQ(
        operation.device,
        vfs::linux_abi::MakeDevice(message.rdev_major(), message.rdev_minor()));
  }
  if constexpr (requires { message.atime_now(); }) {
    EXPECT_EQ(operation.changes_owner,
              message.change_owner() || message.has_uid() || message.has_gid());
    EXPECT_EQ(operation.size.has_value(), message.has_size_bytes());
    EXPECT_EQ(operation.size.value_or(0), message.size_bytes());
    ExpectTime(operation.atime, message.has_atime_seconds(),
               message.atime_seconds(), message.atime_nanoseconds(),
               message.atime_now());
    ExpectTime(operation.mtime, message.has_mtime_seconds(),
               message.mtime_seconds(), message.mtime_nanoseconds(),
               message.mtime_now());
  }
  if constexpr (requires { message.credentials(); }) {
    ASSERT_EQ(request.credentials >= 0, message.has_credentials());
    if (request.credentials < 0) return;
    const ClaimedCredentials& claimed =
        credentials.at(static_cast<size_t>(request.credentials));
    EXPECT_EQ(claimed.uid, message.credentials().uid());
    EXPECT_EQ(claimed.gid, message.credentials().gid());
    EXPECT_THAT(claimed.groups,
                testing::ElementsAreArray(message.credentials().groups()));
  }
}

// The request of that kind in a BatchOperation, or null.
template <typename Operation>
const typename OperationApi<Operation>::Request* Alternative(
    const v1::BatchOperation& message) {
  const auto* field = message.GetDescriptor()->FindFieldByNumber(
      OperationApi<Operation>::kBatchOperation);
  if (!message.GetReflection()->HasField(message, field)) return nullptr;
  return google::protobuf::DynamicCastToGenerated<
      typename OperationApi<Operation>::Request>(
      &message.GetReflection()->GetMessage(message, field));
}

inline void ExpectSame(const AnyOperationRequest& any,
                       const v1::BatchOperation& message,
                       const std::vector<ClaimedCredentials>& credentials) {
  std::visit(
      [&]<typename Request>(const Request& request) {
        if constexpr (std::is_same_v<Request, std::monostate>) {
          EXPECT_EQ(message.kind_case(), v1::BatchOperation::KIND_NOT_SET);
        } else {
          using Operation = decltype(request.operation);
          const auto* expected = Alternative<Operation>(message);
          ASSERT_NE(expected, nullptr);
          ExpectSame<Operation>(request, *expected, credentials);
        }
      },
      any);
}

// How many operations the generated classes find in a message's groups; nothing
// if a group is one that no server can run (vfs.proto: MALFORMED_REQUEST).
inline std::optional<size_t> OperationsOfGroups(
    const v1::BatchRequest& message) {
  std::vector<size_t> counts;
  for (const v1::ColumnGroup& group : message.groups()) {
    const v1::PathColumn* paths = nullptr;
    const v1::HandleColumn* files = nullptr;
    switch (group.kind_case()) {
      case v1::ColumnGroup::kOpen:
        if (group.open().has_paths()) paths = &group.open().paths();
        break;
      case v1::ColumnGroup::kAccess:
        if (group.access().has_paths()) paths = &group.access().paths();
        break;
      case v1::ColumnGroup::kStat:
        if (group.stat().has_paths()) paths = &group.stat().paths();
        if (group.stat().has_files()) files = &group.stat().files();
        break;
      case v1::ColumnGroup::kClose:
        if (group.close().has_files()) files = &group.close().files();
        break;
      case v1::ColumnGroup::kRead:
        if (group.read().has_files()) files = &group.read().files();
        break;
      case v1::ColumnGroup::KIND_NOT_SET:
        break;
    }
    if (paths != nullptr) {
      if (!std::is_sorted(paths->ends().begin(), paths->ends().end()) ||
          (paths->ends_size() > 0 &&
           *paths->ends().rbegin() > paths->joined().size())) {
        return std::nullopt;
      }
      counts.push_back(static_cast<size_t>(paths->ends_size()));
    } else if (files != nullptr && files->has_group()) {
      if (files->group() >= counts.size() ||
          !message.groups(static_cast<int>(files->group())).has_open()) {
        return std::nullopt;
      }
      counts.push_back(counts[files->group()]);
    } else {
      counts.push_back(
          files == nullptr ? 0 : static_cast<size_t>(files->handles_size()));
    }
  }
  return std::accumulate(counts.begin(), counts.end(), size_t{0});
}

// Group: ColumnGroup; a parameter so that only fields that a kind has are
// named.
template <typename Group, typename Columns>
void ExpectSameColumns(const Group& group, const Columns& message) {
  VFSD_EXPECT_FIELD(group, flags)
  VFSD_EXPECT_FIELD(group, mode)
  VFSD_EXPECT_FIELD(group, mask)
  VFSD_EXPECT_FIELD(group, unmasked_fields)
  VFSD_EXPECT_FIELD(group, offset)
  VFSD_EXPECT_FIELD(group, size)
  if constexpr (requires { message.dir_handle(); }) {
    EXPECT_EQ(group.dir.has_value(), message.has_dir_handle());
    EXPECT_EQ(group.dir.value_or(0), message.dir_handle());
  }
  if constexpr (requires { message.paths(); }) {
    ASSERT_EQ(group.paths.has_value(), message.has_paths());
    if (group.paths.has_value()) {
      EXPECT_EQ(group.paths->joined, message.paths().joined());
      ASSERT_EQ(group.paths->ends.size(),
                static_cast<size_t>(message.paths().ends_size()));
      for (size_t i = 0; i < group.paths->ends.size(); ++i)
        EXPECT_EQ(group.paths->ends[i],
                  message.paths().ends(static_cast<int>(i)));
    }
  }
  if constexpr (requires { message.files(); }) {
    ASSERT_EQ(group.files.has_value(), message.has_files());
    if (group.files.has_value()) {
      EXPECT_EQ(group.files->group.has_value(), message.files().has_group());
      EXPECT_EQ(group.files->group.value_or(0), message.files().group());
      ASSERT_EQ(group.files->handles.size(),
                static_cast<size_t>(message.files().handles_size()));
      for (size_t i = 0; i < group.files->handles.size(); ++i)
        EXPECT_EQ(group.files->handles[i],
                  message.files().handles(static_cast<int>(i)));
    }
  }
}

inline void ExpectSame(const ColumnGroup& group,
                       const v1::ColumnGroup& message) {
  ASSERT_EQ(group.kind, static_cast<uint32_t>(message.kind_case()));
  switch (message.kind_case()) {
    case v1::ColumnGroup::kOpen:
      return ExpectSameColumns(group, message.open());
    case v1::ColumnGroup::kClose:
      return ExpectSameColumns(group, message.close());
    case v1::ColumnGroup::kStat:
      return ExpectSameColumns(group, message.stat());
    case v1::ColumnGroup::kAccess:
      return ExpectSameColumns(group, message.access());
    case v1::ColumnGroup::kRead:
      return ExpectSameColumns(group, message.read());
    case v1::ColumnGroup::KIND_NOT_SET:
      return;
  }
}

inline void ExpectSameBatch(const std::string& bytes,
                            const v1::BatchRequest& message) {
  RequestDecoder decoder;
  BatchOfRequests batch;
  const std::optional<size_t> in_groups = OperationsOfGroups(message);
  const RequestDecoder::Outcome expected =
      !in_groups.has_value() ? RequestDecoder::Outcome::kMalformed
      : *in_groups + static_cast<size_t>(message.operations_size()) >
              kMaxOperations
          ? RequestDecoder::Outcome::kTooManyOperations
          : RequestDecoder::Outcome::kOk;
  ASSERT_EQ(decoder.DecodeBatch(bytes, kMaxOperations, batch), expected)
      << testing::PrintToString(
             std::vector<uint8_t>(bytes.begin(), bytes.end()))
      << "\n"
      << message.ShortDebugString();
  if (expected != RequestDecoder::Outcome::kOk) return;
  EXPECT_EQ(batch.session, message.session());
  EXPECT_EQ(batch.stop_on_error, message.stop_on_error());
  ASSERT_EQ(batch.operations.size(),
            static_cast<size_t>(message.operations_size()));
  for (int i = 0; i < message.operations_size(); ++i) {
    ExpectSame(batch.operations[static_cast<size_t>(i)], message.operations(i),
               decoder.credentials());
  }
  ASSERT_EQ(batch.groups.size(), static_cast<size_t>(message.groups_size()));
  for (int i = 0; i < message.groups_size(); ++i)
    ExpectSame(batch.groups[static_cast<size_t>(i)], message.groups(i));
}

#undef VFSD_EXPECT_FIELD

}  // namespace vfsd::rpc
