// What ThreadSanitizer cannot see in the packaged libraries, which are not
// instrumented; linked into every program of a ThreadSanitizer build.
//
// abseil's locks: everything that they guard would be reported as a race. The
// linker's --wrap sends our calls of the functions below here: they tell what
// the lock orders, and then call the library. Only plain happens-before is told
// (no lock identities): the order in which directories are locked depends on
// the tree, and the sanitizer's own search for lock cycles would take it for a
// mistake. Conditions: the library lets whichever thread unlocks evaluate them,
// outside of what can be told here, so waiting for one becomes polling. The
// names are those of the package (its inline namespace is debian3). A function
// that is used and not listed shows as false races: add it, here and in
// CMakeLists.txt.
//
// liburcu, gRPC: suppressions, at the end. What our own code does under RCU's
// protection is not suppressed: server/sync/rcu.cc tells of its orderings.

#include <sanitizer/tsan_interface.h>

#include <chrono>
#include <thread>
#include <type_traits>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

static_assert(std::is_same_v<absl::Mutex, absl::debian3::Mutex>,
              "another package of abseil: adapt the names");

#define VFSD_WRAP(result, name, ...)            \
  extern "C" result __real_##name(__VA_ARGS__); \
  extern "C" result __wrap_##name(__VA_ARGS__)

VFSD_WRAP(void, _ZN4absl7debian35Mutex4LockEv, absl::Mutex* mutex) {
  __real__ZN4absl7debian35Mutex4LockEv(mutex);
  __tsan_acquire(mutex);
}

VFSD_WRAP(void, _ZN4absl7debian35Mutex6UnlockEv, absl::Mutex* mutex) {
  __tsan_release(mutex);
  __real__ZN4absl7debian35Mutex6UnlockEv(mutex);
}

VFSD_WRAP(bool, _ZN4absl7debian35Mutex7TryLockEv, absl::Mutex* mutex) {
  const bool locked = __real__ZN4absl7debian35Mutex7TryLockEv(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

VFSD_WRAP(void, _ZN4absl7debian35Mutex10ReaderLockEv, absl::Mutex* mutex) {
  __real__ZN4absl7debian35Mutex10ReaderLockEv(mutex);
  __tsan_acquire(mutex);
}

VFSD_WRAP(void, _ZN4absl7debian35Mutex12ReaderUnlockEv, absl::Mutex* mutex) {
  __tsan_release(mutex);
  __real__ZN4absl7debian35Mutex12ReaderUnlockEv(mutex);
}

namespace {

// Lets go of the mutex for a moment.
void Pause(absl::Mutex& mutex) {
  mutex.Unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  mutex.Lock();
}

}  // namespace

// REQUIRES here: the mutex is held exclusively.
VFSD_WRAP(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE,
          absl::Mutex* mutex, const absl::Condition& condition) {
  while (!condition.Eval()) Pause(*mutex);
}

VFSD_WRAP(void, _ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE,
          absl::Mutex* mutex, const absl::Condition& condition) {
  mutex->Lock();
  while (!condition.Eval()) Pause(*mutex);
}

VFSD_WRAP(
    bool,
    _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
    absl::Mutex* mutex, const absl::Condition& condition,
    absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    if (condition.Eval()) return true;
    if (absl::Now() >= deadline) return false;
    Pause(*mutex);
  }
}

VFSD_WRAP(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE,
          absl::CondVar* variable, absl::Mutex* mutex) {
  __tsan_release(mutex);
  __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(variable, mutex);
  __tsan_acquire(mutex);
}

VFSD_WRAP(bool,
          _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
          absl::CondVar* variable, absl::Mutex* mutex, absl::Duration timeout) {
  __tsan_release(mutex);
  const bool timed_out =
      __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(
          variable, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

VFSD_WRAP(void, _ZN4absl7debian312Notification6NotifyEv,
          absl::Notification* notification) {
  __tsan_release(notification);
  __real__ZN4absl7debian312Notification6NotifyEv(notification);
}

VFSD_WRAP(void, _ZNK4absl7debian312Notification19WaitForNotificationEv,
          absl::Notification* notification) {
  __real__ZNK4absl7debian312Notification19WaitForNotificationEv(notification);
  __tsan_acquire(notification);
}

VFSD_WRAP(
    bool,
    _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE,
    absl::Notification* notification, absl::Duration timeout) {
  const bool notified =
      __real__ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE(
          notification, timeout);
  if (notified) __tsan_acquire(notification);
  return notified;
}

VFSD_WRAP(bool, _ZN4absl7debian37Barrier5BlockEv, absl::Barrier* barrier) {
  __tsan_release(barrier);
  const bool last = __real__ZN4absl7debian37Barrier5BlockEv(barrier);
  __tsan_acquire(barrier);
  return last;
}

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return
      // Not instrumented: their own memory passes between their threads by
      // means that the sanitizer does not see. Only calls by the libraries
      // themselves are meant, not those that are made below them. A name may
      // match one library only.
      "called_from_lib:libabsl_cord.so\n"
      "called_from_lib:libabsl_cord_internal.so\n"
      "called_from_lib:libabsl_graphcycles_internal.so\n"
      "called_from_lib:libabsl_status.so\n"
      "called_from_lib:libabsl_strings.so\n"
      "called_from_lib:libabsl_time.so\n"
      "called_from_lib:libabsl_time_zone.so\n"
      "called_from_lib:libgpr.so\n"
      "called_from_lib:libgrpc.so\n"
      "called_from_lib:liburcu-memb.so\n"
      "called_from_lib:libupb.so\n"
      // gRPC on its own memory through templates of the standard library and
      // through its inline functions, which are compiled into our objects. Our
      // server's and client's code runs above gRPC's (completion queues); only
      // the tests' blocking server is called by it.
      "race:libgrpc.so\n"
      "race:libgrpc++.so\n"
      "race_top:^grpc::\n"
      // A status text that the library filled on one of its threads, taken over
      // by its inline code in ours: below it is only the string's own code.
      "race:grpc::internal::CallOpClientRecvStatus::FinishOp\n"
      // liburcu's inline functions access its state by assembly and volatile
      // accesses.
      "race_top:urcu_\n";
}
