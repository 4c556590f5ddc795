#include "server/vfs/session.h"

#include "absl/time/clock.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {

Session::Session(Vfs& vfs, uint64_t id, uint32_t number, SessionOptions options,
                 uint64_t handle_salt, LeaseClock::time_point now)
    : id_(id),
      number_(number),
      credentials_(std::move(options.credentials)),
      umask_(options.umask & 0777),
      errors_in_band_(options.errors_in_band),
      client_name_(std::move(options.client_name)),
      lease_(options.lease),
      opened_(absl::Now()),
      root_(vfs.Root()),
      files_(vfs.files, vfs.options().boot_epoch, handle_salt,
             vfs.options().max_handles_per_session),
      renewed_(ToMilliseconds(now)) {
  live_objects::Add(ObjectKind::kSession, 1);
}

Session::~Session() {
  files_.CloseAll();
  FileAccounting::DrainDeferred();
  live_objects::Add(ObjectKind::kSession, -1);
}

}  // namespace vfsd::vfs
