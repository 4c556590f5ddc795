// Comparing answers with what was expected.
//
// Every answer of a load is checked field by field here, or is byte for byte
// equal to one that was (reply_template.h). An instance belongs to one worker:
// it keeps the messages that replies are parsed into.
#ifndef CLIENT_LOAD_REPLY_CHECK_H_
#define CLIENT_LOAD_REPLY_CHECK_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/load/operation.h"
#include "client/load/unit.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsload {

// What one operation answered.
struct Verdict {
  // A Linux error number; 0: ok.
  int errno_code = 0;
  // What an open opened.
  uint64_t handle = 0;
  // Empty: right. Else what is wrong, for people.
  std::string complaint;

  bool right() const { return complaint.empty(); }
};

class ReplyCheck {
 public:
  // A unary reply to `step`.
  Verdict CheckUnary(const Step& step, std::string_view reply);

  // A reply to a message with these steps: one verdict a step, valid until the
  // next call. Where the message as a whole is wrong (it does not parse, or has
  // another number of results) every verdict says so.
  std::span<const Verdict> CheckBatch(std::span<const Step* const> steps,
                                      std::string_view reply);

 private:
  vfs::v1::OpenResponse open_;
  vfs::v1::CloseResponse plain_;
  vfs::v1::StatResponse stat_;
  vfs::v1::ReadResponse read_;
  vfs::v1::ReadDirectoryResponse directory_;
  vfs::v1::BatchResponse batch_;
  std::vector<Verdict> verdicts_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPLY_CHECK_H_
