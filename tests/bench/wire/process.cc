#include "tests/bench/wire/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace wirebench {

void Die(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(1);
}

Process::Process(const std::vector<std::string>& command) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    Die(fmt::format("pipe: {}", std::strerror(errno)));
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) Die(fmt::format("fork: {}", std::strerror(errno)));
  if (pid_ == 0) {
    // Not to be left behind if the benchmark is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    fmt::print(stderr, "bench: {}: {}\n", command[0], std::strerror(errno));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

Process::~Process() {
  close(in_);
  close(out_);
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

std::string Process::ReadLine() {
  std::string line;
  char next = 0;
  while (read(out_, &next, 1) == 1 && next != '\n') line += next;
  return line;
}

int64_t Process::CpuNanoseconds() const {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 ||
      clock_gettime(clock, &time) != 0)
    Die("a server has ended");
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace wirebench
