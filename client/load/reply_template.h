// A batch reply that was found right, and whether another one equals it.
//
// The messages of a load repeat, and so do their replies: but for the handles
// that opens give out, the bytes are the same until something changes on the
// server. Comparing them with a reply that was checked field by field costs a
// tenth of parsing them; a reply that differs is parsed, checked, and if right
// becomes the new template. Owned by one worker.
#ifndef CLIENT_LOAD_REPLY_TEMPLATE_H_
#define CLIENT_LOAD_REPLY_TEMPLATE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vfsload {

class ReplyTemplate {
 public:
  // `reply` is a serialised vfs.v1.BatchResponse whose results are all right.
  // One that this cannot take apart is not learnt: nothing matches then.
  void Learn(std::string_view reply);

  // True: every byte is the same, apart from the handles of opened files, none
  // of which is 0.
  bool Matches(std::string_view reply) const;

 private:
  bool LearnRows();
  bool LearnColumns();

  std::string bytes_;
  // Where the eight bytes of a handle start, ascending.
  std::vector<size_t> handles_;
  bool learnt_ = false;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPLY_TEMPLATE_H_
