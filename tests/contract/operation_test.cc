// Every operation as a unary call: what it answers, in both error models.
#include <gmock/gmock.h>

#include <set>

#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

namespace abi = vfs::linux_abi;
using Stub = v1::VfsService::Stub;

class OperationTest : public ServiceTest {};
VFSD_SERVICE_TESTS(OperationTest);

TEST_P(OperationTest, OpenStatReadClose) {
  const uint64_t session = OpenSession();
  const uint64_t handle = Open(session, "/proc/version");
  v1::ReadRequest read;
  read.set_session(session);
  read.set_handle(handle);
  read.set_size(4096);
  v1::ReadResponse content;
  ASSERT_TRUE(Call(&Stub::Read, read, &content).ok());
  EXPECT_THAT(content.data(), testing::StartsWith("vfsd version "));
  // From the middle; and behind the end.
  read.set_offset(5);
  read.set_size(7);
  v1::ReadResponse part;
  ASSERT_TRUE(Call(&Stub::Read, read, &part).ok());
  EXPECT_EQ(part.data(), "version");
  read.set_offset(100'000);
  ASSERT_TRUE(Call(&Stub::Read, read, &part).ok());
  EXPECT_EQ(part.data(), "");
  read.set_offset(-1);
  EXPECT_EQ(Reason(&Stub::Read, read), "EINVAL");

  Close(session, handle);
  v1::CloseRequest close;
  close.set_session(session);
  close.set_handle(handle);
  EXPECT_EQ(Reason(&Stub::Close, close), "EBADF");
  close.clear_handle();
  EXPECT_EQ(Reason(&Stub::Close, close), "EBADF");
}

TEST_P(OperationTest, ReadOfARegularFileIsNotServed) {
  const uint64_t session = OpenSession();
  MakeFile(session, "/file");
  v1::ReadRequest read;
  read.set_session(session);
  read.set_handle(Open(session, "/file"));
  read.set_size(1);
  v1::ReadResponse response;
  const grpc::Status status = Call(&Stub::Read, read, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(ReasonOf(status), "EOPNOTSUPP");
  Unlink(session, "/file");
}

TEST_P(OperationTest, StatByPathByHandleAndWithoutPathAgree) {
  const uint64_t session = OpenSession();
  MakeFile(session, "/file");
  v1::StatRequest by_path;
  by_path.set_session(session);
  by_path.set_path("/file");
  by_path.set_mask(0xfff);
  v1::StatResponse expected;
  ASSERT_TRUE(Call(&Stub::Stat, by_path, &expected).ok());
  EXPECT_EQ(expected.mode(), abi::kSIfreg | 0644u);
  EXPECT_EQ(expected.nlink(), 1u);
  EXPECT_EQ(expected.mask() & 0xfff, 0xfffu);
  EXPECT_GT(expected.mtime_seconds(), 0);

  v1::StatRequest by_handle;
  by_handle.set_session(session);
  by_handle.set_dir_handle(Open(session, "/file", abi::kOPath));
  by_handle.set_mask(0xfff);
  by_handle.set_flags(abi::kAtEmptyPath);
  v1::StatResponse answer;
  ASSERT_TRUE(Call(&Stub::Stat, by_handle, &answer).ok()) << "absent";
  EXPECT_EQ(answer.SerializeAsString(), expected.SerializeAsString());
  by_handle.set_path("");
  ASSERT_TRUE(Call(&Stub::Stat, by_handle, &answer).ok()) << "empty";
  EXPECT_EQ(answer.SerializeAsString(), expected.SerializeAsString());
  by_handle.set_raw_path("");
  ASSERT_TRUE(Call(&Stub::Stat, by_handle, &answer).ok()) << "empty bytes";
  EXPECT_EQ(answer.SerializeAsString(), expected.SerializeAsString());

  const auto hits =
      service().instance().vfs().fast_paths.hits(vfs::FastPath::kEmptyPath);
  EXPECT_EQ(hits, std::string_view(GetParam()) == "all" ? 3 : 0);

  // Without AT_EMPTY_PATH: NULL is EFAULT, "" is ENOENT.
  by_handle.set_flags(0);
  EXPECT_EQ(Reason(&Stub::Stat, by_handle), "ENOENT");
  by_handle.clear_raw_path();
  EXPECT_EQ(Reason(&Stub::Stat, by_handle), "EFAULT");
  // The handle 0 is no handle; not set is AT_FDCWD.
  by_handle.set_flags(abi::kAtEmptyPath);
  by_handle.set_dir_handle(0);
  EXPECT_EQ(Reason(&Stub::Stat, by_handle), "EBADF");
  by_handle.clear_dir_handle();
  EXPECT_EQ(Reason(&Stub::Stat, by_handle), "OK");
  Unlink(session, "/file");
}

TEST_P(OperationTest, UnknownFlagsAndMasks) {
  const uint64_t session = OpenSession();
  v1::StatRequest stat;
  stat.set_session(session);
  stat.set_path("/");
  stat.set_mask(abi::kStatxReserved);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
  stat.set_mask(0);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "OK");
  stat.set_flags(1U << 30);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
  stat.set_dir_handle(Open(session, "/"));
  stat.clear_path();
  stat.set_flags(abi::kAtEmptyPath | 1U << 30);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
  v1::AccessRequest access;
  access.set_session(session);
  access.set_path("/");
  access.set_mode(8);
  EXPECT_EQ(Reason(&Stub::Access, access), "EINVAL");
  v1::UnlinkRequest unlink;
  unlink.set_session(session);
  unlink.set_path("/x");
  unlink.set_flags(1);
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "EINVAL");
  v1::RenameRequest rename;
  rename.set_session(session);
  rename.set_old_path("/x");
  rename.set_new_path("/y");
  rename.set_flags(3);
  EXPECT_EQ(Reason(&Stub::Rename, rename), "EINVAL");
  // open drops what it does not know.
  Close(session, Open(session, "/", 1U << 30));
}

TEST_P(OperationTest, DirectoriesAreMadeListedRenamedAndRemoved) {
  const uint64_t session = OpenSession();
  MakeDirectory(session, "/d");
  MakeDirectory(session, "/d/sub");
  MakeFile(session, "/d/file");
  v1::MakeDirectoryRequest again;
  again.set_session(session);
  again.set_path("/d");
  v1::MakeDirectoryResponse made;
  const grpc::Status exists = Call(&Stub::MakeDirectory, again, &made);
  EXPECT_EQ(exists.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(exists), "EEXIST");

  v1::ReadDirectoryRequest list;
  list.set_session(session);
  list.set_path("/d");
  list.set_with_attributes(true);
  list.set_mask(abi::kStatxBasicStats);
  v1::ReadDirectoryResponse page;
  ASSERT_TRUE(Call(&Stub::ReadDirectory, list, &page).ok());
  ASSERT_EQ(page.entries_size(), 2);
  EXPECT_EQ(page.next_cursor(), 0u);
  EXPECT_EQ(page.entries(0).name(), "sub");
  EXPECT_EQ(page.entries(0).type(), 4u);  // DT_DIR
  EXPECT_EQ(page.entries(1).name(), "file");
  EXPECT_EQ(page.entries(1).type(), 8u);  // DT_REG
  EXPECT_EQ(page.entries(1).ino(), Stat(session, "/d/file").ino());
  EXPECT_EQ(page.entries(1).attributes().mode(), abi::kSIfreg | 0644u);

  v1::RenameRequest rename;
  rename.set_session(session);
  rename.set_old_path("/d/file");
  rename.set_new_dir_handle(Open(session, "/d/sub", abi::kODirectory));
  rename.set_new_path("moved");
  EXPECT_EQ(Reason(&Stub::Rename, rename), "OK");
  EXPECT_EQ(Reason(&Stub::Rename, rename), "ENOENT");
  rename.clear_old_path();
  EXPECT_EQ(Reason(&Stub::Rename, rename), "EFAULT");

  v1::UnlinkRequest unlink;
  unlink.set_session(session);
  unlink.set_path("/d/sub");
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "EISDIR");
  unlink.set_flags(abi::kAtRemovedir);
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "ENOTEMPTY");
  Unlink(session, "/d/sub/moved");
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "OK");
  Unlink(session, "/d", abi::kAtRemovedir);
}

TEST_P(OperationTest, PagesOfADirectoryHoldEachNameOnce) {
  const uint64_t session = OpenSession();
  MakeDirectory(session, "/d");
  std::set<std::string> names;
  for (int i = 0; i < 25; ++i) {
    const std::string name = "f" + std::to_string(i);
    MakeFile(session, "/d/" + name);
    names.insert(name);
  }
  v1::ReadDirectoryRequest list;
  list.set_session(session);
  list.set_dir_handle(Open(session, "/d"));
  list.set_page_size(10);
  std::multiset<std::string> seen;
  std::vector<int> sizes;
  do {
    v1::ReadDirectoryResponse page;
    ASSERT_TRUE(Call(&Stub::ReadDirectory, list, &page).ok());
    for (const v1::DirectoryEntry& entry : page.entries()) {
      seen.insert(entry.name());
      EXPECT_FALSE(entry.has_attributes());
    }
    sizes.push_back(page.entries_size());
    list.set_cursor(page.next_cursor());
  } while (list.cursor() != 0);
  EXPECT_THAT(sizes, testing::ElementsAre(10, 10, 5));
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), names);
  EXPECT_EQ(seen.size(), names.size());
  for (const std::string& name : names) Unlink(session, "/d/" + name);
  Unlink(session, "/d", abi::kAtRemovedir);
}

TEST_P(OperationTest, NamesThatAreNotUtf8Survive) {
  const uint64_t session = OpenSession();
  const std::string name = "caf\xe9";
  v1::OpenRequest open;
  open.set_session(session);
  open.set_raw_path("/" + name);
  open.set_flags(abi::kOCreat);
  open.set_mode(0600);
  EXPECT_EQ(Reason(&Stub::Open, open), "OK");
  MakeFile(session, "/caf\u00e9");
  v1::ReadDirectoryRequest list;
  list.set_session(session);
  list.set_path("/");
  v1::ReadDirectoryResponse page;
  ASSERT_TRUE(Call(&Stub::ReadDirectory, list, &page).ok());
  std::vector<std::string> raw;
  std::vector<std::string> text;
  for (const v1::DirectoryEntry& entry : page.entries()) {
    if (entry.has_raw_name()) raw.push_back(entry.raw_name());
    if (entry.has_name()) text.push_back(entry.name());
  }
  EXPECT_THAT(raw, testing::ElementsAre(name));
  EXPECT_THAT(text, testing::UnorderedElementsAre("proc", "caf\u00e9"));
  v1::UnlinkRequest unlink;
  unlink.set_session(session);
  unlink.set_raw_path("/" + name);
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "OK");
  Unlink(session, "/caf\u00e9");
}

TEST_P(OperationTest, PathsAtTheirLimits) {
  const uint64_t session = OpenSession();
  v1::StatRequest stat;
  stat.set_session(session);
  stat.set_path(std::string(255, 'n'));
  EXPECT_EQ(Reason(&Stub::Stat, stat), "ENOENT");
  stat.set_path(std::string(256, 'n'));
  v1::StatResponse response;
  const grpc::Status long_name = Call(&Stub::Stat, stat, &response);
  EXPECT_EQ(long_name.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(long_name), "ENAMETOOLONG");
  std::string path = "/";
  while (path.size() < 4095) path += "./";
  stat.set_path(path.substr(0, 4095));
  EXPECT_EQ(Reason(&Stub::Stat, stat), "OK");
  stat.set_path(path + "/");
  EXPECT_EQ(stat.path().size(), 4096u);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "ENAMETOOLONG");
  stat.set_path(std::string("/proc\0/version", 14));
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
  stat.set_raw_path(std::string("/proc\0/version", 14));
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
}

TEST_P(OperationTest, ErrorsInBand) {
  const uint64_t session = OpenSession(/*errors_in_band=*/true);
  v1::OpenRequest open;
  open.set_session(session);
  open.set_path("/missing");
  v1::OpenResponse opened;
  ASSERT_TRUE(Call(&Stub::Open, open, &opened).ok());
  EXPECT_EQ(opened.errno_code(), Number(Errno::kENOENT));
  EXPECT_EQ(opened.handle(), 0u);
  open.set_path("/proc/version");
  ASSERT_TRUE(Call(&Stub::Open, open, &opened).ok());
  EXPECT_EQ(opened.errno_code(), 0);
  EXPECT_NE(opened.handle(), 0u);

  v1::StatRequest stat;
  stat.set_session(session);
  stat.set_path("/missing");
  v1::StatResponse attributes;
  ASSERT_TRUE(Call(&Stub::Stat, stat, &attributes).ok());
  EXPECT_EQ(attributes.errno_code(), Number(Errno::kENOENT));
  v1::CloseRequest close;
  close.set_session(session);
  close.set_handle(1);
  v1::CloseResponse closed;
  ASSERT_TRUE(Call(&Stub::Close, close, &closed).ok());
  EXPECT_EQ(closed.errno_code(), Number(Errno::kEBADF));
  // Reasons that are no errno stay statuses.
  stat.set_session(session + 1);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "SESSION_EXPIRED");
}

TEST_P(OperationTest, HandlesThatAreNotTheCallers) {
  const uint64_t mine = OpenSession();
  const uint64_t other = OpenSession();
  const uint64_t handle = Open(mine, "/");
  v1::StatRequest stat;
  stat.set_flags(abi::kAtEmptyPath);
  const auto reason = [&](uint64_t session, uint64_t dir) {
    stat.set_session(session);
    stat.set_dir_handle(dir);
    return Reason(&Stub::Stat, stat);
  };
  EXPECT_EQ(reason(mine, handle), "OK");
  EXPECT_EQ(reason(other, handle), "EBADF");
  for (int bit = 0; bit < 56; ++bit) {
    const std::string invented = reason(mine, handle ^ uint64_t{1} << bit);
    EXPECT_TRUE(invented == "EBADF" || invented == "ESTALE")
        << bit << ": " << invented;
  }
  EXPECT_EQ(reason(mine, 1), "EBADF");
  EXPECT_EQ(reason(mine, UINT64_MAX), "EBADF");
  Close(mine, handle);
  EXPECT_EQ(reason(mine, handle), "EBADF");
}

TEST_P(OperationTest, HandlesFromBeforeARestartAreStale) {
  const auto with_epoch = [&](uint8_t epoch) {
    Restart([&](Service::Options& options) {
      options.instance.vfs.boot_epoch = epoch;
    });
    return OpenSession();
  };
  uint64_t session = with_epoch(1);
  const uint64_t handle = Open(session, "/");
  session = with_epoch(2);
  v1::CloseRequest close;
  close.set_session(session);
  close.set_handle(handle);
  v1::CloseResponse response;
  const grpc::Status status = Call(&Stub::Close, close, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "ESTALE");
}

TEST_P(OperationTest, TooManyHandles) {
  Restart([](Service::Options& options) {
    options.instance.vfs.max_handles_per_session = 2;
  });
  const uint64_t session = OpenSession();
  Open(session, "/");
  Open(session, "/");
  v1::OpenRequest open;
  open.set_session(session);
  // EMFILE comes before what is wrong with the path.
  open.set_path("/missing");
  v1::OpenResponse response;
  const grpc::Status status = Call(&Stub::Open, open, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "EMFILE");
}

TEST_P(OperationTest, RetriesGetTheFirstAnswer) {
  const uint64_t session = OpenSession();
  v1::MakeDirectoryRequest make;
  make.set_session(session);
  make.set_path("/d");
  make.set_request_id(7);
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "OK");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "OK");
  make.set_request_id(8);
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "EEXIST");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "EEXIST");

  v1::OpenRequest open;
  open.set_session(session);
  open.set_path("/d");
  open.set_request_id(9);
  v1::OpenResponse first;
  v1::OpenResponse second;
  ASSERT_TRUE(Call(&Stub::Open, open, &first).ok());
  ASSERT_TRUE(Call(&Stub::Open, open, &second).ok());
  EXPECT_EQ(first.handle(), second.handle());
  EXPECT_EQ(service().instance().sessions().open_handles(), 1u);

  v1::UnlinkRequest unlink;
  unlink.set_session(session);
  unlink.set_path("/d");
  unlink.set_flags(abi::kAtRemovedir);
  unlink.set_request_id(10);
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "OK");
  EXPECT_EQ(Reason(&Stub::Unlink, unlink), "OK");
}

TEST_P(OperationTest, AReferenceToABatchOperationNeedsABatch) {
  const uint64_t session = OpenSession();
  v1::StatRequest stat;
  stat.set_session(session);
  stat.set_dir_operation(0);
  stat.set_path("x");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EINVAL");
}

TEST_P(OperationTest, EveryOperationIsCounted) {
  const uint64_t session = OpenSession();
  const auto& counters = service().instance().executor().counters();
  v1::OpenRequest open;
  open.set_session(session);
  open.set_path("/missing");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Reason(&Stub::Open, open), "ENOENT");
  EXPECT_EQ(counters.Ended(vfs::OperationKind::kOpen, Errno::kENOENT), 3u);
  const auto hits =
      service().instance().vfs().fast_paths.hits(vfs::FastPath::kReleaseEmpty);
  EXPECT_EQ(hits, std::string_view(GetParam()) == "all" ? 3 : 0);
}

TEST_P(OperationTest, NodesLinksAndTheirTargets) {
  const uint64_t session = OpenSession();
  v1::MakeNodeRequest node;
  node.set_session(session);
  node.set_path("/device");
  node.set_mode(abi::kSIfchr | 0600);
  node.set_rdev_major(5);
  node.set_rdev_minor(300);
  EXPECT_EQ(Reason(&Stub::MakeNode, node), "OK");
  EXPECT_EQ(Stat(session, "/device").rdev_major(), 5u);
  EXPECT_EQ(Stat(session, "/device").rdev_minor(), 300u);

  v1::MakeLinkRequest link;
  link.set_session(session);
  link.set_old_path("/device");
  link.set_new_path("/same");
  EXPECT_EQ(Reason(&Stub::MakeLink, link), "OK");
  EXPECT_EQ(Reason(&Stub::MakeLink, link), "EEXIST");
  EXPECT_EQ(Stat(session, "/same").ino(), Stat(session, "/device").ino());
  EXPECT_EQ(Stat(session, "/same").nlink(), 2u);

  v1::MakeSymlinkRequest symlink;
  symlink.set_session(session);
  symlink.set_path("/link");
  EXPECT_EQ(Reason(&Stub::MakeSymlink, symlink), "EFAULT");
  symlink.set_target("");
  EXPECT_EQ(Reason(&Stub::MakeSymlink, symlink), "ENOENT");
  symlink.set_target("/device");
  EXPECT_EQ(Reason(&Stub::MakeSymlink, symlink), "OK");
  symlink.set_path("/raw");
  symlink.set_raw_target("caf\xe9");
  EXPECT_EQ(Reason(&Stub::MakeSymlink, symlink), "OK");

  v1::ReadLinkRequest read;
  read.set_session(session);
  read.set_path("/link");
  v1::ReadLinkResponse target;
  ASSERT_TRUE(Call(&Stub::ReadLink, read, &target).ok());
  EXPECT_EQ(target.target(), "/device");
  read.set_path("/raw");
  ASSERT_TRUE(Call(&Stub::ReadLink, read, &target).ok());
  EXPECT_EQ(target.raw_target(), "caf\xe9");
  read.set_path("/device");
  EXPECT_EQ(Reason(&Stub::ReadLink, read), "EINVAL");
  for (const char* path : {"/device", "/same", "/link", "/raw"}) {
    Unlink(session, path);
  }
}

TEST_P(OperationTest, AttributesAreSet) {
  const uint64_t session = OpenSession();
  MakeFile(session, "/file");
  v1::SetAttributesRequest set;
  set.set_session(session);
  set.set_path("/file");
  set.set_mode(0600);
  set.set_uid(7);
  set.set_size_bytes(4096);
  set.set_atime_seconds(-5);
  set.set_atime_nanoseconds(6);
  set.set_mtime_seconds(0);
  EXPECT_EQ(Reason(&Stub::SetAttributes, set), "OK");
  const v1::StatResponse now = Stat(session, "/file");
  EXPECT_EQ(now.mode(), abi::kSIfreg | 0600u);
  EXPECT_EQ(now.uid(), 7u);
  EXPECT_EQ(now.gid(), 0u);
  EXPECT_EQ(now.size(), 4096u);
  EXPECT_EQ(now.atime_seconds(), -5);
  EXPECT_EQ(now.atime_nanoseconds(), 6u);
  EXPECT_EQ(now.mtime_seconds(), 0);
  set.set_size_bytes(-1);
  EXPECT_EQ(Reason(&Stub::SetAttributes, set), "EINVAL");
  set.clear_size_bytes();
  set.set_atime_nanoseconds(1'000'000'000);
  EXPECT_EQ(Reason(&Stub::SetAttributes, set), "EINVAL");
  set.clear_atime_nanoseconds();
  set.set_path("/missing");
  EXPECT_EQ(Reason(&Stub::SetAttributes, set), "ENOENT");
  Unlink(session, "/file");
}

TEST_P(OperationTest, FileSystemsTellAboutThemselves) {
  const uint64_t session = OpenSession();
  v1::StatFilesystemRequest request;
  request.set_session(session);
  request.set_path("/");
  v1::StatFilesystemResponse top;
  ASSERT_TRUE(Call(&Stub::StatFilesystem, request, &top).ok());
  EXPECT_EQ(top.name_max(), 255u);
  EXPECT_EQ(top.block_size(), 4096u);
  request.set_path("/proc/version");
  v1::StatFilesystemResponse proc;
  ASSERT_TRUE(Call(&Stub::StatFilesystem, request, &proc).ok());
  EXPECT_NE(top.dev_minor(), proc.dev_minor());
  request.clear_path();
  EXPECT_EQ(Reason(&Stub::StatFilesystem, request), "EFAULT");
}

}  // namespace
}  // namespace vfsd::contract
