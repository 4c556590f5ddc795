// RedisPeer: file metadata as people keep it in Redis: a hash a file (HGETALL),
// or the whole struct in one string (GET), asked for in pipelines of a thousand
// commands, two of them under way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/wire/process.h"

struct redisContext;

namespace wirebench {

class RedisPeer {
 public:
  // paths: what it gets metadata of.
  RedisPeer(const std::string& scratch, const std::vector<std::string>& paths);
  ~RedisPeer();

  const Process& process() const { return *process_; }

  enum class Form { kHash, kPacked };
  // Asks for all files `pipelines` times; returns how many were answered.
  uint64_t Ask(Form form, int pipelines);

 private:
  void Send(Form form);
  void Receive(Form form);

  const std::vector<std::string>& paths_;
  std::unique_ptr<Process> process_;
  redisContext* connection_ = nullptr;  // closed in the destructor
};

}  // namespace wirebench
