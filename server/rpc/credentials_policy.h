// CredentialsPolicy: whether a peer's word about who it is counts. The only
// place that decides it.
//
// Thread safety: immutable.
#pragma once

#include "server/rpc/failure.h"
#include "server/rpc/operation_request.h"
#include "server/vfs/credentials.h"

namespace vfsd::rpc {

// trust: any peer may claim any user (the network, or the unix socket's file
// permissions, keep others out). anonymous: nobody may claim anything; all are
// the anonymous caller.
enum class CredentialsMode { kTrust, kAnonymous };

class CredentialsPolicy {
 public:
  // anonymous: whom calls act for that claim nobody; null: there is no such
  // caller.
  CredentialsPolicy(CredentialsMode mode, vfs::CredentialsRef anonymous);

  // For a session that claims nobody. CREDENTIALS_DENIED without an anonymous
  // caller.
  Outcome<vfs::CredentialsRef> Anonymous() const;
  // For a session or a request that claims somebody. CREDENTIALS_DENIED, or
  // EINVAL for too many groups.
  Outcome<vfs::CredentialsRef> Claim(const ClaimedCredentials& claimed) const;

 private:
  const CredentialsMode mode_;
  const vfs::CredentialsRef anonymous_;
};

}  // namespace vfsd::rpc
