// Who asks: user, group and supplementary groups (the kernel's struct cred, as
// far as it decides about files). Immutable once made and shared by reference:
// a session holds one; an open file points to the one it was opened with, and
// holds it too where it is not its session's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace vfsd::vfs {

class Credentials {
 public:
  // groups: supplementary groups in any order.
  Credentials(uint32_t uid, uint32_t gid, std::vector<uint32_t> groups = {})
      : uid_(uid), gid_(gid), groups_(std::move(groups)) {
    std::sort(groups_.begin(), groups_.end());
  }

  uint32_t uid() const { return uid_; }
  uint32_t gid() const { return gid_; }
  const std::vector<uint32_t>& groups() const { return groups_; }

  // Root has every capability that the core asks for (CAP_DAC_OVERRIDE,
  // CAP_FOWNER, CAP_SYS_ADMIN …); nobody else has any.
  bool IsPrivileged() const { return uid_ == 0; }

  // in_group_p(): the group itself or a supplementary one.
  bool InGroup(uint32_t gid) const {
    return gid == gid_ ||
           std::binary_search(groups_.begin(), groups_.end(), gid);
  }

  friend bool operator==(const Credentials&, const Credentials&) = default;

 private:
  uint32_t uid_;
  uint32_t gid_;
  std::vector<uint32_t> groups_;
};

using CredentialsRef = std::shared_ptr<const Credentials>;

}  // namespace vfsd::vfs
