// Columns of batches: the same answers as the same operations one by one.
#include "client/lib/columns.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "server/base/errno.h"
#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

namespace abi = vfs::linux_abi;
using testing::ElementsAre;

class ColumnsTest : public ServiceTest {
 protected:
  // Of an empty column: all succeeded.
  static std::vector<uint32_t> Errors(const v1::ColumnGroupResult& group) {
    return {group.errno_codes().begin(), group.errno_codes().end()};
  }
  static uint32_t Code(Errno error) { return static_cast<uint32_t>(error); }

  v1::BatchResponse Run(v1::BatchRequest batch, uint64_t session) {
    batch.set_session(session);
    v1::BatchResponse response;
    const grpc::Status status = RunBatch(batch, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::string ReasonOfRun(v1::BatchRequest batch, uint64_t session) {
    batch.set_session(session);
    v1::BatchResponse response;
    const grpc::Status status = RunBatch(batch, &response);
    return status.ok() ? "OK" : ReasonOf(status);
  }
};
VFSD_SERVICE_TESTS(ColumnsTest);

void AddPaths(const std::vector<std::string>& paths, v1::PathColumn* column) {
  for (const std::string& path : paths) vfsclient::AppendPath(path, column);
}

TEST_P(ColumnsTest, GroupsUseFilesThatEarlierGroupsOpen) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  AddPaths({"/proc/version", "/missing", "/proc/uptime"},
           batch.add_groups()->mutable_open()->mutable_paths());
  v1::ReadColumns* read = batch.add_groups()->mutable_read();
  read->mutable_files()->set_group(0);
  read->set_size(4096);
  v1::StatColumns* stat = batch.add_groups()->mutable_stat();
  stat->mutable_files()->set_group(0);
  stat->set_mask(abi::kStatxMode);
  batch.add_groups()->mutable_close()->mutable_files()->set_group(0);
  batch.add_groups()->mutable_close()->mutable_files()->set_group(0);

  const v1::BatchResponse response = Run(batch, session);
  ASSERT_EQ(response.groups_size(), 5);
  EXPECT_EQ(response.groups(0).count(), 3u);
  EXPECT_THAT(Errors(response.groups(0)),
              ElementsAre(0, Code(Errno::kENOENT), 0));
  ASSERT_EQ(response.groups(0).open().handles_size(), 3);
  EXPECT_NE(response.groups(0).open().handles(0), 0u);
  EXPECT_EQ(response.groups(0).open().handles(1), 0u);
  const auto canceled = ElementsAre(0, Code(Errno::kECANCELED), 0);
  EXPECT_THAT(Errors(response.groups(1)), canceled);
  const v1::ReadResultColumns& data = response.groups(1).read();
  ASSERT_EQ(data.ends_size(), 3);
  EXPECT_THAT(data.joined(), testing::StartsWith("vfsd version"));
  EXPECT_EQ(data.ends(0), data.ends(1));
  EXPECT_EQ(data.ends(2), data.joined().size());
  EXPECT_THAT(Errors(response.groups(2)), canceled);
  EXPECT_THAT(response.groups(2).stat().mode(),
              ElementsAre(abi::kSIfreg | 0444, 0, abi::kSIfreg | 0444));
  EXPECT_EQ(response.groups(2).stat().ino_size(), 0);
  EXPECT_EQ(response.groups(2).stat().masks_size(), 0);
  EXPECT_THAT(Errors(response.groups(3)), canceled);
  EXPECT_THAT(Errors(response.groups(4)),
              ElementsAre(Code(Errno::kEBADF), Code(Errno::kECANCELED),
                          Code(Errno::kEBADF)));
}

TEST_P(ColumnsTest, NothingIsSaidOfWhatSucceeds) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  AddPaths({"/", "/proc"},
           batch.add_groups()->mutable_access()->mutable_paths());
  batch.add_groups();
  const v1::BatchResponse response = Run(batch, session);
  ASSERT_EQ(response.groups_size(), 2);
  EXPECT_EQ(response.groups(0).SerializeAsString(), std::string("\x08\x02"));
  EXPECT_EQ(response.groups(1).count(), 0u);
}

TEST_P(ColumnsTest, StopsAtTheFirstError) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  batch.set_stop_on_error(true);
  AddPaths({"/", "/missing", "/"},
           batch.add_groups()->mutable_access()->mutable_paths());
  AddPaths({"/"}, batch.add_groups()->mutable_open()->mutable_paths());
  v1::BatchResponse response = Run(batch, session);
  EXPECT_THAT(Errors(response.groups(0)),
              ElementsAre(0, Code(Errno::kENOENT), Code(Errno::kECANCELED)));
  EXPECT_THAT(Errors(response.groups(1)), ElementsAre(Code(Errno::kECANCELED)));
  EXPECT_EQ(response.groups(1).open().handles_size(), 0);
  // An error of a single operation stops the groups too.
  batch.add_operations()->mutable_stat()->set_path("/missing");
  response = Run(batch, session);
  EXPECT_THAT(Errors(response.groups(1)), ElementsAre(Code(Errno::kECANCELED)));
}

TEST_P(ColumnsTest, WhatCannotBeRunIsMalformed) {
  const uint64_t session = OpenSession();
  {
    v1::BatchRequest batch;  // ends that fall
    v1::PathColumn* paths = batch.add_groups()->mutable_open()->mutable_paths();
    paths->set_joined("abc");
    paths->add_ends(2);
    paths->add_ends(1);
    EXPECT_EQ(ReasonOfRun(batch, session), "MALFORMED_REQUEST");
  }
  {
    v1::BatchRequest batch;  // an end beyond the end
    v1::PathColumn* paths =
        batch.add_groups()->mutable_access()->mutable_paths();
    paths->set_joined("abc");
    paths->add_ends(4);
    EXPECT_EQ(ReasonOfRun(batch, session), "MALFORMED_REQUEST");
  }
  for (const uint32_t opener : {0u, 1u, 2u, 7u}) {
    v1::BatchRequest batch;  // files of a group that opens none
    batch.add_groups()->mutable_access();
    batch.add_groups()->mutable_close()->mutable_files()->set_group(opener);
    batch.add_groups()->mutable_open();
    EXPECT_EQ(ReasonOfRun(batch, session), "MALFORMED_REQUEST") << opener;
  }
}

TEST_P(ColumnsTest, LimitsCountEveryOperation) {
  Restart([](Service::Options& options) {
    options.instance.limits.max_batch_operations = 10;
  });
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  const std::vector<std::string> paths(4, "/");
  AddPaths(paths, batch.add_groups()->mutable_open()->mutable_paths());
  batch.add_groups()->mutable_close()->mutable_files()->set_group(0);
  batch.add_operations()->mutable_stat()->set_path("/");
  batch.add_operations()->mutable_stat()->set_path("/");
  EXPECT_EQ(ReasonOfRun(batch, session), "OK");
  batch.add_operations()->mutable_stat()->set_path("/");
  EXPECT_EQ(ReasonOfRun(batch, session), "BATCH_TOO_LARGE");
}

// Random operations that change nothing but atimes (which the comparison leaves
// out), once in rows and once in columns.
class RandomOperations {
 public:
  RandomOperations(uint64_t seed, std::vector<std::string> paths)
      : random_(seed), paths_(std::move(paths)) {}

  size_t Below(size_t limit) { return random_() % limit; }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  const std::string& Path() { return paths_[Below(paths_.size())]; }

  // Some operations of one kind that differ in their path or file only.
  std::vector<v1::BatchOperation> Group(const std::vector<uint64_t>& handles) {
    std::vector<v1::BatchOperation> group(Below(20));
    const uint32_t flags = kFlags[Below(std::size(kFlags))];
    const uint32_t at_flags = kAtFlags[Below(std::size(kAtFlags))];
    const uint32_t mask = static_cast<uint32_t>(random_()) & 0x7fff;
    const auto mode = static_cast<uint32_t>(Below(9));
    const size_t kind = Below(5);
    for (v1::BatchOperation& operation : group) {
      switch (kind) {
        case 0:
          operation.mutable_open()->set_path(Path());
          operation.mutable_open()->set_flags(flags);
          break;
        case 1:
          operation.mutable_access()->set_path(Path());
          operation.mutable_access()->set_mode(mode);
          operation.mutable_access()->set_flags(at_flags);
          break;
        case 2:
          operation.mutable_stat()->set_path(Path());
          operation.mutable_stat()->set_flags(at_flags);
          operation.mutable_stat()->set_mask(mask);
          break;
        case 3:
          operation.mutable_stat()->set_dir_handle(
              handles[Below(handles.size())]);
          operation.mutable_stat()->set_path("");
          operation.mutable_stat()->set_flags(abi::kAtEmptyPath);
          operation.mutable_stat()->set_mask(mask);
          break;
        default:
          operation.mutable_read()->set_handle(handles[Below(handles.size())]);
          operation.mutable_read()->set_offset(static_cast<int64_t>(mode) - 1);
          operation.mutable_read()->set_size(mask & 0xff);
          break;
      }
    }
    return group;
  }

 private:
  static constexpr uint32_t kFlags[] = {
      0,
      1,
      2,
      abi::kODirectory,
      abi::kOPath,
      abi::kONofollow,
      abi::kOCreat | abi::kOExcl | abi::kODirectory};
  static constexpr uint32_t kAtFlags[] = {0, 0x100, 0x1000, 0x200, 0x40000000};

  std::mt19937_64 random_;
  const std::vector<std::string> paths_;
};

// What only one form tells, or what one of them may have changed.
void KeepComparable(uint32_t wanted, v1::BatchResult* row) {
  if (row->has_open()) row->mutable_open()->set_handle(1);
  if (!row->has_stat()) return;
  v1::StatResponse& stat = *row->mutable_stat();
  stat.set_mask(stat.mask() & wanted);
  const auto unless = [&](uint32_t bits, auto clear) {
    if ((wanted & bits) == 0) clear();
  };
  unless(abi::kStatxNlink, [&] { stat.clear_nlink(); });
  unless(abi::kStatxUid, [&] { stat.clear_uid(); });
  unless(abi::kStatxGid, [&] { stat.clear_gid(); });
  unless(abi::kStatxType | abi::kStatxMode, [&] { stat.clear_mode(); });
  unless(abi::kStatxIno, [&] { stat.clear_ino(); });
  unless(abi::kStatxSize, [&] { stat.clear_size(); });
  unless(abi::kStatxBlocks, [&] { stat.clear_blocks(); });
  unless(abi::kStatxBtime, [&] {
    stat.clear_btime_seconds();
    stat.clear_btime_nanoseconds();
  });
  unless(abi::kStatxCtime, [&] {
    stat.clear_ctime_seconds();
    stat.clear_ctime_nanoseconds();
  });
  unless(abi::kStatxMtime, [&] {
    stat.clear_mtime_seconds();
    stat.clear_mtime_nanoseconds();
  });
  unless(abi::kStatxMntId | abi::kStatxMntIdUnique,
         [&] { stat.clear_mnt_id(); });
  unless(abi::kStatxDioalign, [&] {
    stat.clear_dio_mem_align();
    stat.clear_dio_offset_align();
  });
  stat.clear_atime_seconds();
  stat.clear_atime_nanoseconds();
}

TEST_P(ColumnsTest, RandomGroupsAnswerWhatRowsDo) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const uint64_t session = OpenSession();
  MakeDirectory(session, "/d");
  MakeFile(session, "/d/file");
  RandomOperations random(
      seed, {"/", "/d", "/d/file", "/d/missing", "/d/file/x", "/proc/version",
             "/proc/mounts", "", ".", "d/../d/file", "/missing/x",
             std::string(300, 'n'), "/d/\u00e9"});
  const std::vector<uint64_t> handles = {Open(session, "/d/file"),
                                         Open(session, "/proc/version"),
                                         Open(session, "/d"), 0, 0x1234};
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    v1::BatchRequest rows;
    v1::BatchRequest columns;
    std::vector<uint32_t> masks;
    for (size_t n = 1 + random.Below(4); n > 0; --n) {
      v1::ColumnGroup* group = columns.add_groups();
      uint32_t mask = 0;
      for (const v1::BatchOperation& operation : random.Group(handles)) {
        ASSERT_TRUE(vfsclient::AppendOperation(operation, std::nullopt, group));
        *rows.add_operations() = operation;
        mask = operation.stat().mask();
      }
      if (group->has_stat()) group->mutable_stat()->set_unmasked_fields(true);
      masks.push_back(mask);
    }
    const bool stop = random.Chance(20);
    rows.set_stop_on_error(stop);
    columns.set_stop_on_error(stop);
    v1::BatchResponse by_row = Run(rows, session);
    const v1::BatchResponse by_column = Run(columns, session);
    ASSERT_EQ(by_column.groups_size(), columns.groups_size());
    v1::BatchResponse expanded;
    std::vector<uint32_t> wanted;
    for (int i = 0; i < by_column.groups_size(); ++i) {
      const uint32_t mask = masks[static_cast<size_t>(i)];
      vfsclient::AppendRows(by_column.groups(i), mask,
                            expanded.mutable_results());
      wanted.resize(static_cast<size_t>(expanded.results_size()), mask);
    }
    ASSERT_EQ(expanded.results_size(), by_row.results_size());
    v1::BatchRequest close;
    for (v1::BatchResponse* response : {&by_row, &expanded}) {
      for (int i = 0; i < response->results_size(); ++i) {
        v1::BatchResult* row = response->mutable_results(i);
        if (row->has_open())
          close.add_operations()->mutable_close()->set_handle(
              row->open().handle());
        KeepComparable(wanted[static_cast<size_t>(i)], row);
      }
    }
    for (int i = 0; i < by_row.results_size(); ++i) {
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
          by_row.results(i), expanded.results(i)))
          << rows.operations(i).ShortDebugString()
          << "\nrow:    " << by_row.results(i).ShortDebugString()
          << "\ncolumn: " << expanded.results(i).ShortDebugString();
    }
    Run(close, session);
  }
  for (size_t i = 0; i < 3; ++i) Close(session, handles[i]);
  Unlink(session, "/d/file");
  Unlink(session, "/d", abi::kAtRemovedir);
}

}  // namespace
}  // namespace vfsd::contract
