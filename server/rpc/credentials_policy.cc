#include "server/rpc/credentials_policy.h"

#include <memory>
#include <utility>

#include "server/vfs/linux_abi.h"

namespace vfsd::rpc {

CredentialsPolicy::CredentialsPolicy(CredentialsMode mode,
                                     vfs::CredentialsRef anonymous)
    : mode_(mode), anonymous_(std::move(anonymous)) {}

Outcome<vfs::CredentialsRef> CredentialsPolicy::Anonymous() const {
  if (anonymous_ == nullptr) return std::unexpected(Reason::kCredentialsDenied);
  return anonymous_;
}

Outcome<vfs::CredentialsRef> CredentialsPolicy::Claim(
    const ClaimedCredentials& claimed) const {
  if (mode_ != CredentialsMode::kTrust)
    return std::unexpected(Reason::kCredentialsDenied);
  if (claimed.groups.size() > vfs::linux_abi::kNgroupsMax)
    return std::unexpected(Errno::kEINVAL);
  return std::make_shared<const vfs::Credentials>(claimed.uid, claimed.gid,
                                                  claimed.groups);
}

}  // namespace vfsd::rpc
