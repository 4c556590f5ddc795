// FixedFile: a file whose content never changes. Opening, reading and closing
// it allocate nothing and take no lock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "server/fs/proc/file_provider.h"

namespace vfsd::proc {

class FixedFile final : public FileProvider {
 public:
  // extra_flags: kProviderPermanent or 0.
  explicit FixedFile(std::string content, uint8_t extra_flags = 0)
      : content_(std::move(content)),
        flags_(kProviderReads | kProviderSeeks | extra_flags) {}

  uint8_t flags() const override { return flags_; }
  Result<size_t> Read(OpenFile open, uint64_t offset,
                      std::span<char> buffer) override;

 private:
  const std::string content_;
  const uint8_t flags_;
};

}  // namespace vfsd::proc
