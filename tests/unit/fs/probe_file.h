// ProbeFile: a provider that tells a test, through a Probe that outlives it,
// what happens to it: how often its hooks ran, whether any ran after its end,
// and that can be held inside a hook.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/fs/proc/copy_out.h"
#include "server/fs/proc/file_provider.h"

namespace vfsd::testing {

// A place in a hook where a test can hold it.
struct Gate {
  absl::Notification entered;
  absl::Notification leave;

  void Pass() {
    entered.Notify();
    leave.WaitForNotification();
  }
};

struct Probe {
  std::atomic<int> opens{0};
  std::atomic<int> reads{0};
  std::atomic<int> releases_begun{0};
  std::atomic<int> releases{0};  // that have returned
  std::atomic<bool> ended{false};
  // The next call of the hook passes the gate, and only that one.
  std::atomic<Gate*> read_gate{nullptr};
  std::atomic<Gate*> release_gate{nullptr};
  std::atomic<Errno> open_error{Errno::kOk};
};

inline constexpr std::string_view kProbeContent = "0123456789";

class ProbeFile final : public proc::FileProvider {
 public:
  ProbeFile(std::shared_ptr<Probe> probe, uint8_t flags)
      : probe_(std::move(probe)), flags_(flags) {}
  ~ProbeFile() override { probe_->ended = true; }

  uint8_t flags() const override { return flags_; }

  Errno Open(proc::OpenFile open) override {
    Check();
    if (probe_->open_error.load() != Errno::kOk) return probe_->open_error;
    ++probe_->opens;
    if ((flags_ & proc::kProviderReleases) != 0) {
      open.state = std::make_unique<State>();
    }
    return Errno::kOk;
  }
  Result<size_t> Read(proc::OpenFile open, uint64_t offset,
                      std::span<char> buffer) override {
    Check();
    CheckState(open);
    ++probe_->reads;
    PassOnce(probe_->read_gate);
    return proc::CopyOut(kProbeContent, offset, buffer);
  }
  void Release(proc::OpenFile open) override {
    Check();
    CheckState(open);
    ++probe_->releases_begun;
    PassOnce(probe_->release_gate);
    open.state.reset();
    ++probe_->releases;
  }

 private:
  struct State final : vfs::FilePrivateData {
    int mark = 42;
  };

  void Check() const { EXPECT_FALSE(probe_->ended) << "a hook ran too late"; }
  // What Open stored is what the other hooks get, whichever way they are
  // called.
  void CheckState(const proc::OpenFile& open) const {
    if ((flags_ & proc::kProviderReleases) == 0) return;
    ASSERT_NE(open.state, nullptr);
    const auto* const state = dynamic_cast<const State*>(open.state.get());
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(state->mark, 42);
  }
  static void PassOnce(std::atomic<Gate*>& gate) {
    Gate* const held = gate.exchange(nullptr);
    if (held != nullptr) held->Pass();
  }

  const std::shared_ptr<Probe> probe_;
  const uint8_t flags_;
};

inline constexpr uint8_t kPlain = proc::kProviderReads | proc::kProviderSeeks;
inline constexpr uint8_t kHooked = kPlain | proc::kProviderReleases;

}  // namespace vfsd::testing
