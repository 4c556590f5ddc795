#include "server/fs/proc/sequence_file.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/fs/proc/copy_out.h"

namespace vfsd::proc {
namespace {

struct KeptContent final : vfs::FilePrivateData {
  absl::Mutex mu;
  SharedText text ABSL_GUARDED_BY(mu);
};

}  // namespace

Errno SequenceFile::Open(OpenFile open) {
  open.state = std::make_unique<KeptContent>();
  return Errno::kOk;
}

Result<size_t> SequenceFile::Read(OpenFile open, uint64_t offset,
                                  std::span<char> buffer) {
  auto& kept = static_cast<KeptContent&>(*open.state);
  absl::MutexLock lock(&kept.mu);
  if (kept.text == nullptr || offset == 0) {
    Result<SharedText> made = make_();
    if (!made.has_value()) return Fail(made.error());
    kept.text = std::move(*made);
  }
  return CopyOut(*kept.text, offset, buffer);
}

void SequenceFile::Release(OpenFile open) { open.state.reset(); }

}  // namespace vfsd::proc
