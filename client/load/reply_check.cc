#include "client/load/reply_check.h"

#include <fmt/format.h>

#include "client/lib/columns.h"
#include "client/lib/errno_table.h"

namespace vfsload {
namespace {

// An answer, unary or batched. Null where the response is absent.
struct Answer {
  int errno_code = 0;
  const vfs::v1::OpenResponse* open = nullptr;
  const vfs::v1::StatResponse* stat = nullptr;
  const vfs::v1::ReadResponse* read = nullptr;
  const vfs::v1::ReadDirectoryResponse* directory = nullptr;
};

std::string CheckStat(const StatExpectation& expected,
                      const vfs::v1::StatResponse* stat) {
  if (stat == nullptr) return "no attributes";
  const StatExpectation got = StatExpectation::Of(*stat);
  if (got == expected) return {};
  return fmt::format("mode {:o}, ino {}, size {} instead of {:o}, {}, {}",
                     got.mode, got.ino, got.size, expected.mode, expected.ino,
                     expected.size);
}

std::string CheckRead(const Expectation& expected,
                      const vfs::v1::ReadResponse* read) {
  const std::string& got =
      read != nullptr ? read->data() : vfs::v1::ReadResponse().data();
  if (expected.data_is_prefix ? got.starts_with(*expected.data)
                              : got == *expected.data) {
    return {};
  }
  return fmt::format("{} bytes that differ from the {} seen at preparation",
                     got.size(), expected.data->size());
}

std::string CheckDirectory(const DirectoryDigest& expected,
                           const vfs::v1::ReadDirectoryResponse* page) {
  if (page == nullptr) return "no entries";
  const DirectoryDigest got = DirectoryDigest::Of(*page);
  if (got == expected) return {};
  return fmt::format("{} entries that differ from the {} seen at preparation",
                     got.entries, expected.entries);
}

std::string CheckContent(const Step& step, const Answer& answer) {
  const Expectation& expected = step.expected;
  if (answer.errno_code != expected.errno_code) {
    return fmt::format("{} instead of {}",
                       vfsclient::ErrnoName(answer.errno_code),
                       vfsclient::ErrnoName(expected.errno_code));
  }
  if (answer.errno_code != 0) return {};
  if (step.operation.has_open() &&
      (answer.open == nullptr || answer.open->handle() == 0)) {
    return "success without a handle";
  }
  if (expected.stat) return CheckStat(*expected.stat, answer.stat);
  if (expected.data) return CheckRead(expected, answer.read);
  if (expected.directory) {
    return CheckDirectory(*expected.directory, answer.directory);
  }
  return {};
}

Verdict Judge(const Step& step, const Answer& answer) {
  Verdict verdict;
  verdict.errno_code = answer.errno_code;
  if (answer.open != nullptr) verdict.handle = answer.open->handle();
  std::string wrong = CheckContent(step, answer);
  if (!wrong.empty()) {
    verdict.complaint =
        fmt::format("{}: {} (asked: {})", OperationName(KindOf(step.operation)),
                    wrong, step.operation.ShortDebugString());
  }
  return verdict;
}

}  // namespace

Verdict ReplyCheck::CheckUnary(const Step& step, std::string_view reply) {
  Answer answer;
  const auto parse = [&](auto* message) {
    if (!message->ParseFromArray(reply.data(),
                                 static_cast<int>(reply.size()))) {
      return false;
    }
    answer.errno_code = message->errno_code();
    return true;
  };
  bool parsed = false;
  switch (KindOf(step.operation)) {
    case Operation::kOpen:
      parsed = parse(&open_);
      answer.open = &open_;
      break;
    case Operation::kStat:
      parsed = parse(&stat_);
      answer.stat = &stat_;
      break;
    case Operation::kRead:
      parsed = parse(&read_);
      answer.read = &read_;
      break;
    case Operation::kReadDirectory:
      parsed = parse(&directory_);
      answer.directory = &directory_;
      break;
    case Operation::kClose:
    case Operation::kAccess:
    case Operation::kMakeDirectory:
    case Operation::kUnlink:
    case Operation::kRename:
      // These responses hold an errno_code and nothing else, at the same place.
      parsed = parse(&plain_);
      break;
  }
  if (!parsed) {
    Verdict verdict;
    verdict.complaint = "the reply does not parse";
    return verdict;
  }
  return Judge(step, answer);
}

std::span<const Verdict> ReplyCheck::CheckBatch(
    std::span<const Step* const> steps, std::string_view reply) {
  verdicts_.assign(steps.size(), Verdict());
  std::string complaint;
  if (!batch_.ParseFromArray(reply.data(), static_cast<int>(reply.size()))) {
    complaint = "the batch's reply does not parse";
  }
  // Columns as rows; whoever checks them asks for what is looked at.
  for (const vfs::v1::ColumnGroupResult& group : batch_.groups()) {
    if (batch_.results_size() + static_cast<int64_t>(group.count()) >
        static_cast<int64_t>(steps.size())) {
      break;
    }
    vfsclient::AppendRows(group, 0, batch_.mutable_results());
  }
  if (complaint.empty() &&
      static_cast<size_t>(batch_.results_size()) != steps.size()) {
    complaint = fmt::format("{} results for a batch of {} operations",
                            batch_.results_size(), steps.size());
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!complaint.empty()) {
      verdicts_[i].complaint = complaint;
      continue;
    }
    const vfs::v1::BatchResult& result = batch_.results(static_cast<int>(i));
    Answer answer;
    answer.errno_code = result.errno_code();
    if (result.has_open()) answer.open = &result.open();
    if (result.has_stat()) answer.stat = &result.stat();
    if (result.has_read()) answer.read = &result.read();
    if (result.has_read_directory())
      answer.directory = &result.read_directory();
    verdicts_[i] = Judge(*steps[i], answer);
  }
  return verdicts_;
}

}  // namespace vfsload
