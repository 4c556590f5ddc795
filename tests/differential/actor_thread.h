// ActorThread: a thread of its own for whoever makes system calls, since the
// kernel keeps credentials, root, working directory, mounts and descriptors for
// each thread if it is asked to. One that is started by another shares all of
// these with it but the credentials.
//
// Used by one thread at a time, which waits for what it has run.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace vfsd::differential {

class ActorThread {
 public:
  ActorThread();
  ~ActorThread();
  ActorThread(const ActorThread&) = delete;
  ActorThread& operator=(const ActorThread&) = delete;

  // On the thread, and waits for the end; at once if this is the thread.
  void Run(const std::function<void()>& what);

 private:
  void Loop();

  std::mutex mu_;
  std::condition_variable changed_;
  const std::function<void()>* what_ = nullptr;  // null: done
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace vfsd::differential
