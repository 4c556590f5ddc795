#include "server/vfs/file_system_end.h"

#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace vfsd::vfs {
namespace {

// Ended in place: about a millisecond.
constexpr size_t kFewInodes = 4096;

// How many are under way. Lives for ever: their threads are nobody's.
class EndsUnderWay {
 public:
  static EndsUnderWay& Get() {
    static EndsUnderWay& ends = *new EndsUnderWay;
    return ends;
  }
  void Add(int delta) {
    absl::MutexLock lock(&mu_);
    count_ += delta;
  }
  void WaitForNone() {
    absl::MutexLock lock(&mu_);
    mu_.Await(
        absl::Condition(+[](int* count) { return *count == 0; }, &count_));
  }

 private:
  absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

void DropFileSystem(std::shared_ptr<FileSystem> file_system) {
  // Where two drop their references at once both may see the other's, and the
  // last ends it in place: that is slow, not wrong.
  if (file_system.use_count() > 1 || file_system->inode_count() <= kFewInodes)
    return;
  EndsUnderWay& ends = EndsUnderWay::Get();
  ends.Add(1);
  try {
    std::thread([&ends, end = std::move(file_system)]() mutable {
      end.reset();
      ends.Add(-1);
    }).detach();
  } catch (const std::system_error&) {
    // No thread to be had. The reference went with the function object: it has
    // ended here.
    ends.Add(-1);
  }
}

void WaitForFileSystemEnds() { EndsUnderWay::Get().WaitForNone(); }

}  // namespace vfsd::vfs
