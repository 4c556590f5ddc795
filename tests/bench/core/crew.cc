#include "tests/bench/core/crew.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

namespace corebench {
namespace {

constexpr size_t kMaxWorkers = 8;

int64_t Clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t ThreadCpuNanoseconds() { return Clock(CLOCK_THREAD_CPUTIME_ID); }
int64_t ProcessCpuNanoseconds() { return Clock(CLOCK_PROCESS_CPUTIME_ID); }

void PinToProcessor(size_t index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  size_t left = index % static_cast<size_t>(CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

// In memory that processes share. A null loop: nothing to do in this slice.
struct Crew::Shared {
  pthread_barrier_t begin;
  pthread_barrier_t end;
  LoopEnd loop_end;
  bool quit = false;
  std::array<Loop*, kMaxWorkers> loops{};
  struct alignas(64) Result {
    LoopCounts counts;
    int64_t cpu_nanoseconds = 0;
  };
  std::array<Result, kMaxWorkers> results{};
};

Crew::Crew(Kind kind, size_t workers) : workers_(workers) {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || workers > kMaxWorkers) {
    std::perror("core_bench: crew");
    std::exit(1);
  }
  shared_ = new (memory) Shared;
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  const auto parties = static_cast<unsigned>(workers + 1);
  pthread_barrier_init(&shared_->begin, &shared, parties);
  pthread_barrier_init(&shared_->end, &shared, parties);
  pthread_barrierattr_destroy(&shared);
  for (size_t i = 0; i < workers; ++i) {
    if (kind == Kind::kThreads) {
      threads_.emplace_back([this, i] { Serve(*shared_, i); });
      continue;
    }
    const pid_t child = fork();
    if (child < 0) {
      std::perror("core_bench: fork");
      std::exit(1);
    }
    if (child == 0) {
      // Never outlives the benchmark, however that ends.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Serve(*shared_, i);
      _exit(0);
    }
    processes_.push_back(child);
  }
}

Crew::~Crew() {
  shared_->quit = true;
  pthread_barrier_wait(&shared_->begin);
  for (std::thread& thread : threads_) thread.join();
  for (const pid_t process : processes_) waitpid(process, nullptr, 0);
  pthread_barrier_destroy(&shared_->begin);
  pthread_barrier_destroy(&shared_->end);
  munmap(shared_, sizeof(Shared));
}

void Crew::Serve(Shared& shared, size_t index) {
  PinToProcessor(index);
  for (;;) {
    pthread_barrier_wait(&shared.begin);
    if (shared.quit) return;
    Shared::Result& result = shared.results[index];
    result = {};
    if (Loop* const loop = shared.loops[index]; loop != nullptr) {
      const int64_t begin = ThreadCpuNanoseconds();
      result.counts = (*loop)(shared.loop_end);
      result.cpu_nanoseconds = ThreadCpuNanoseconds() - begin;
    }
    pthread_barrier_wait(&shared.end);
  }
}

SliceResult Crew::Run(const std::vector<Loop*>& loops,
                      std::chrono::nanoseconds duration) {
  for (size_t i = 0; i < workers_; ++i) {
    shared_->loops[i] = i < loops.size() ? loops[i] : nullptr;
  }
  shared_->loop_end.stop.store(false, std::memory_order_relaxed);
  pthread_barrier_wait(&shared_->begin);
  std::this_thread::sleep_for(duration);
  shared_->loop_end.stop.store(true, std::memory_order_relaxed);
  pthread_barrier_wait(&shared_->end);
  SliceResult total;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Shared::Result& result = shared_->results[i];
    total.operations += result.counts.operations;
    total.wrong += result.counts.wrong;
    total.cpu_nanoseconds += result.cpu_nanoseconds;
  }
  return total;
}

}  // namespace corebench
