// What vfsload sends, and how it checks what comes back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/load/reply_check.h"
#include "client/load/reply_template.h"
#include "client/load/request_encoding.h"
#include "client/load/unit.h"

namespace vfsload {
namespace {

constexpr uint64_t kSession = 0x1122334455667788;

Step Open(const std::string& path, int errno_code = 0) {
  Step step;
  step.operation.mutable_open()->set_path(path);
  step.expected.errno_code = errno_code;
  return step;
}

Step Close(int uses) {
  Step step;
  step.operation.mutable_close();
  step.uses_step = uses;
  return step;
}

Step Stat(const StatExpectation& expected) {
  Step step;
  step.operation.mutable_stat()->set_path("");
  step.expected.stat = expected;
  return step;
}

Step Read(const std::string& data, bool prefix = false) {
  Step step;
  step.operation.mutable_read()->set_size(100);
  step.expected.data = data;
  step.expected.data_is_prefix = prefix;
  return step;
}

std::string Text(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

TEST(UnaryRequest, PutsTheHandleIn) {
  const UnaryRequest request(Close(0), kSession);
  for (const uint64_t handle : {uint64_t{1}, uint64_t{0xffff'0000'1234'5678}}) {
    vfs::v1::CloseRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(Text(request.Bytes(handle))));
    EXPECT_EQ(parsed.session(), kSession);
    EXPECT_EQ(parsed.handle(), handle);
  }
}

TEST(UnaryRequest, IsTheRequestOfTheStep) {
  const UnaryRequest request(Open("/a/b"), kSession);
  EXPECT_EQ(request.operation(), Operation::kOpen);
  vfs::v1::OpenRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(Text(request.Bytes(0))));
  EXPECT_EQ(parsed.session(), kSession);
  EXPECT_EQ(parsed.path(), "/a/b");
}

TEST(EncodeBatch, ReferencesCountFromTheMessage) {
  Unit unit{{Open("/a"), Close(0)}};
  vfs::v1::BatchRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(
      EncodeBatch({&unit, &unit, &unit}, kSession).bytes));
  EXPECT_EQ(parsed.session(), kSession);
  ASSERT_EQ(parsed.operations_size(), 6);
  EXPECT_EQ(parsed.operations(1).close().handle_operation(), 0u);
  EXPECT_EQ(parsed.operations(3).close().handle_operation(), 2u);
  EXPECT_EQ(parsed.operations(5).close().handle_operation(), 4u);
}

TEST(ReplyCheck, UnaryOpen) {
  ReplyCheck check;
  vfs::v1::OpenResponse reply;
  reply.set_handle(5);
  const Verdict right = check.CheckUnary(Open("/a"), reply.SerializeAsString());
  EXPECT_TRUE(right.right()) << right.complaint;
  EXPECT_EQ(right.handle, 5u);
  // Success without a handle, an error, something else than the error.
  EXPECT_FALSE(check.CheckUnary(Open("/a"), "").right());
  reply.set_errno_code(13);
  reply.clear_handle();
  const Verdict denied =
      check.CheckUnary(Open("/a"), reply.SerializeAsString());
  EXPECT_EQ(denied.errno_code, 13);
  EXPECT_NE(denied.complaint.find("EACCES instead of ok"), std::string::npos)
      << denied.complaint;
  EXPECT_FALSE(
      check.CheckUnary(Open("/a", 2), reply.SerializeAsString()).right());
  reply.set_errno_code(2);
  EXPECT_TRUE(
      check.CheckUnary(Open("/a", 2), reply.SerializeAsString()).right());
  EXPECT_FALSE(check.CheckUnary(Open("/a"), "\xff\xff").right());
}

TEST(ReplyCheck, UnaryStatComparesModeInodeAndSize) {
  ReplyCheck check;
  vfs::v1::StatResponse reply;
  reply.set_mode(0100644);
  reply.set_ino(7);
  reply.set_size(100);
  reply.set_mtime_seconds(1);
  const Step step = Stat(StatExpectation::Of(reply));
  EXPECT_TRUE(check.CheckUnary(step, reply.SerializeAsString()).right());
  reply.set_mtime_seconds(2);
  EXPECT_TRUE(check.CheckUnary(step, reply.SerializeAsString()).right());
  for (int field = 0; field < 3; ++field) {
    vfs::v1::StatResponse wrong = reply;
    if (field == 0) wrong.set_mode(0100600);
    if (field == 1) wrong.set_ino(8);
    if (field == 2) wrong.set_size(101);
    EXPECT_FALSE(check.CheckUnary(step, wrong.SerializeAsString()).right());
  }
}

TEST(ReplyCheck, UnaryReadComparesBytes) {
  ReplyCheck check;
  vfs::v1::ReadResponse reply;
  reply.set_data("Session: 7\nHandles: 3\n");
  const std::string bytes = reply.SerializeAsString();
  EXPECT_TRUE(check.CheckUnary(Read(reply.data()), bytes).right());
  EXPECT_FALSE(check.CheckUnary(Read("Session: 7"), bytes).right());
  EXPECT_TRUE(check.CheckUnary(Read("Session: 7", true), bytes).right());
  EXPECT_FALSE(check.CheckUnary(Read("Session: 8", true), bytes).right());
}

TEST(ReplyCheck, DirectoriesCompareNamesInOrder) {
  vfs::v1::ReadDirectoryResponse page;
  page.add_entries()->set_name("a");
  page.add_entries()->set_name("b");
  Step step;
  step.operation.mutable_read_directory();
  step.expected.directory = DirectoryDigest::Of(page);
  ReplyCheck check;
  EXPECT_TRUE(check.CheckUnary(step, page.SerializeAsString()).right());
  page.mutable_entries()->SwapElements(0, 1);
  EXPECT_FALSE(check.CheckUnary(step, page.SerializeAsString()).right());
  page.mutable_entries()->RemoveLast();
  EXPECT_FALSE(check.CheckUnary(step, page.SerializeAsString()).right());
}

class BatchReply : public testing::Test {
 protected:
  BatchReply() {
    stat_.set_mode(0100644);
    stat_.set_ino(7);
    unit_ = {{Open("/a"), Stat(StatExpectation::Of(stat_)), Open("/b", 2),
              Close(0)}};
    for (const Step& step : unit_.steps) steps_.push_back(&step);
    reply_.add_results()->mutable_open()->set_handle(0x1234);
    *reply_.add_results()->mutable_stat() = stat_;
    reply_.add_results()->set_errno_code(2);
    reply_.add_results();
  }

  std::string Bytes() const { return reply_.SerializeAsString(); }

  vfs::v1::StatResponse stat_;
  Unit unit_;
  std::vector<const Step*> steps_;
  vfs::v1::BatchResponse reply_;
  ReplyCheck check_;
};

TEST_F(BatchReply, RightInEveryField) {
  for (const Verdict& verdict : check_.CheckBatch(steps_, Bytes())) {
    EXPECT_TRUE(verdict.right()) << verdict.complaint;
  }
}

TEST_F(BatchReply, EachOperationIsJudgedAlone) {
  reply_.mutable_results(1)->mutable_stat()->set_ino(8);
  reply_.mutable_results(3)->set_errno_code(9);
  const auto verdicts = check_.CheckBatch(steps_, Bytes());
  ASSERT_EQ(verdicts.size(), 4u);
  EXPECT_TRUE(verdicts[0].right());
  EXPECT_FALSE(verdicts[1].right());
  EXPECT_TRUE(verdicts[2].right());
  EXPECT_FALSE(verdicts[3].right());
  EXPECT_EQ(verdicts[3].errno_code, 9);
}

TEST_F(BatchReply, TooFewResultsAreAllWrong) {
  reply_.mutable_results()->RemoveLast();
  for (const Verdict& verdict : check_.CheckBatch(steps_, Bytes())) {
    EXPECT_FALSE(verdict.right());
  }
  for (const Verdict& verdict : check_.CheckBatch(steps_, "\xff")) {
    EXPECT_FALSE(verdict.right());
  }
}

TEST_F(BatchReply, TemplateIgnoresOnlyHandles) {
  ReplyTemplate learnt;
  EXPECT_FALSE(learnt.Matches(Bytes()));
  EXPECT_FALSE(learnt.Matches(""));
  learnt.Learn(Bytes());
  EXPECT_TRUE(learnt.Matches(Bytes()));
  reply_.mutable_results(0)->mutable_open()->set_handle(0xffff'ffff'ffff'0001);
  EXPECT_TRUE(learnt.Matches(Bytes()));
  const std::string good = Bytes();
  EXPECT_FALSE(learnt.Matches(good + "x"));
  EXPECT_FALSE(learnt.Matches(good.substr(0, good.size() - 1)));

  // Every single bit of it matters, but for those of the handle.
  size_t ignored = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    ignored += learnt.Matches(bad);
  }
  EXPECT_EQ(ignored, 8u);
}

TEST_F(BatchReply, TemplateRefusesAHandleOfZero) {
  ReplyTemplate learnt;
  learnt.Learn(Bytes());
  std::string zero = Bytes();
  const std::string handle("\x34\x12\0\0\0\0\0\0", 8);
  const size_t at = zero.find(handle);
  ASSERT_NE(at, std::string::npos);
  zero.replace(at, 8, std::string(8, '\0'));
  EXPECT_FALSE(learnt.Matches(zero));
}

TEST_F(BatchReply, WhatCannotBeTakenApartIsNotLearnt) {
  ReplyTemplate learnt;
  const std::string broken = Bytes() + "\x0a\x7f";
  learnt.Learn(broken);
  EXPECT_FALSE(learnt.Matches(broken));
}

}  // namespace
}  // namespace vfsload
