#include "server/vfs/session_table.h"

#include <algorithm>

#include "server/vfs/linux_abi.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {
namespace {

constexpr size_t kMaxClientName = 64;

bool IsPrintable(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

SessionTable::SessionTable(Vfs& vfs, SessionLimits limits, Clock clock)
    : vfs_(vfs), limits_(limits), clock_(std::move(clock)) {}

SessionTable::~SessionTable() {
  absl::flat_hash_map<uint64_t, SessionRef> sessions;
  {
    absl::MutexLock lock(&mu_);
    sessions.swap(sessions_);
  }
  for (const auto& [id, session] : sessions) {
    if (session != nullptr) End(session, nullptr);
  }
}

uint64_t SessionTable::RandomBits() {
  return uint64_t{random_()} << 32 | random_();
}

Result<SessionRef> SessionTable::Open(SessionOptions options) {
  if (options.client_name.size() > kMaxClientName ||
      !IsPrintable(options.client_name) ||
      options.credentials->groups().size() > linux_abi::kNgroupsMax) {
    return Fail(Errno::kEINVAL);
  }
  if (options.lease == absl::ZeroDuration())
    options.lease = limits_.default_lease;
  options.lease =
      std::clamp(options.lease, limits_.min_lease, limits_.max_lease);
  uint64_t id;
  uint64_t salt;
  uint32_t number;
  {
    absl::MutexLock lock(&mu_);
    if (sessions_.size() >= limits_.max_sessions) return Fail(Errno::kENFILE);
    do {
      id = RandomBits();
    } while (id == 0 || sessions_.contains(id));
    salt = RandomBits();
    number = next_number_++;
    sessions_.emplace(id, nullptr);
  }
  // Without the lock, which every call's Find takes: finding the root may wait
  // for an unmount to be decided.
  auto session = std::make_shared<Session>(vfs_, id, number, std::move(options),
                                           salt, clock_());
  // While nobody can find it yet, and so end it: the observer would learn of
  // its end first.
  if (observer_ != nullptr) observer_->SessionOpened(session);
  absl::MutexLock lock(&mu_);
  sessions_[id] = session;
  return session;
}

SessionRef SessionTable::Find(uint64_t id) {
  const LeaseClock::time_point now = clock_();
  absl::ReaderMutexLock lock(&mu_);
  const auto it = sessions_.find(id);
  // One that has lapsed is as good as gone, even before Reap comes by.
  if (it == sessions_.end() || it->second == nullptr ||
      it->second->expiry() <= now) {
    return nullptr;
  }
  it->second->Renew(now);
  return it->second;
}

void SessionTable::End(const SessionRef& session, uint32_t* closed_handles) {
  const uint32_t closed = session->files().CloseAll();
  FileAccounting::DrainDeferred();
  if (closed_handles != nullptr) *closed_handles = closed;
  if (observer_ != nullptr) observer_->SessionClosed(*session);
}

bool SessionTable::Close(uint64_t id, uint32_t* closed_handles) {
  SessionRef session;
  {
    absl::MutexLock lock(&mu_);
    const auto it = sessions_.find(id);
    if (it == sessions_.end() || it->second == nullptr) return false;
    session = std::move(it->second);
    sessions_.erase(it);
  }
  End(session, closed_handles);
  return true;
}

size_t SessionTable::Reap() {
  const LeaseClock::time_point now = clock_();
  std::vector<SessionRef> lapsed;
  {
    absl::MutexLock lock(&mu_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto current = it++;
      if (current->second == nullptr || current->second->expiry() > now)
        continue;
      lapsed.push_back(std::move(current->second));
      sessions_.erase(current);
    }
  }
  for (const SessionRef& session : lapsed) End(session, nullptr);
  expired_.Add(static_cast<int64_t>(lapsed.size()));
  return lapsed.size();
}

void SessionTable::SetAnonymous(CredentialsRef credentials) {
  SessionOptions options;
  options.credentials = std::move(credentials);
  anonymous_ =
      std::make_shared<Session>(vfs_, 0, 0, std::move(options), 0, clock_());
}

size_t SessionTable::size() const {
  absl::ReaderMutexLock lock(&mu_);
  return sessions_.size();
}

std::vector<SessionRef> SessionTable::List() const {
  absl::ReaderMutexLock lock(&mu_);
  std::vector<SessionRef> sessions;
  sessions.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) {
    if (session != nullptr) sessions.push_back(session);
  }
  return sessions;
}

uint64_t SessionTable::open_handles() const {
  // A sum of counters under way can be short of zero for a moment.
  return static_cast<uint64_t>(std::max<int64_t>(vfs_.files.open_handles(), 0));
}

}  // namespace vfsd::vfs
