// CompletionTag: what is handed to a completion queue with an operation, and
// comes back from it when the operation has ended.
//
// Also THE place where the hand-over at the queue is told to ThreadSanitizer:
// gRPC is not built for it, so it cannot see that what was done before an
// operation began happens before what is done after it ended.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace vfsd::rpc {

class CompletionTag {
 public:
  CompletionTag() = default;
  CompletionTag(const CompletionTag&) = delete;
  CompletionTag& operator=(const CompletionTag&) = delete;

  // The pointer to give to gRPC. One operation at a time has it.
  void* Arm() {
#if defined(__SANITIZE_THREAD__)
    __tsan_release(this);
#endif
    return this;
  }

  // What came back from the queue: runs the handler.
  static void Deliver(void* armed, bool ok) {
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(armed);
#endif
    static_cast<CompletionTag*>(armed)->Complete(ok);
  }

 protected:
  ~CompletionTag() = default;

 private:
  virtual void Complete(bool ok) = 0;
};

// Calls a member function of its owner.
template <typename Owner>
class MemberTag final : public CompletionTag {
 public:
  using Member = void (Owner::*)(bool ok);
  MemberTag(Owner* owner, Member member) : owner_(owner), member_(member) {}

 private:
  void Complete(bool ok) override { (owner_->*member_)(ok); }

  Owner* const owner_;
  const Member member_;
};

}  // namespace vfsd::rpc
