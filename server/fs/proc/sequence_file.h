// SequenceFile: a file whose content is made anew for each open file, whole, at
// its first read, and kept for the reads that follow, so that pages fit
// together whatever changes meanwhile (the kernel's seq_file with
// single_open()). A read at offset 0 begins again and makes new content, so
// that a file that is kept open can be polled.
//
// The content goes when the file is closed or the entry is removed, whichever
// is first. Thread safe: reads of one open file wait for each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "server/fs/proc/file_provider.h"

namespace vfsd::proc {

using SharedText = std::shared_ptr<const std::string>;

class SequenceFile final : public FileProvider {
 public:
  // Makes the content; its error is the read's. Called from any thread, and
  // must be callable several times at once. extra_flags: kProviderPermanent
  // or 0. (Nothing is permanent by being of this class: what `make` calls may
  // well come and go.)
  using Make = std::function<Result<SharedText>()>;
  explicit SequenceFile(Make make, uint8_t extra_flags = 0)
      : make_(std::move(make)),
        flags_(kProviderReads | kProviderSeeks | kProviderReleases |
               extra_flags) {}

  uint8_t flags() const override { return flags_; }
  Errno Open(OpenFile open) override;
  Result<size_t> Read(OpenFile open, uint64_t offset,
                      std::span<char> buffer) override;
  void Release(OpenFile open) override;

 private:
  const Make make_;
  const uint8_t flags_;
};

}  // namespace vfsd::proc
