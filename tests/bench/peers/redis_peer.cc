#include "tests/bench/peers/redis_peer.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "tests/bench/peers/port.h"

namespace wirebench {
namespace {

// The thirteen fields that a stat of basic attributes has.
constexpr int kFields = 13;
// As large as the fields of a StatResponse are.
constexpr size_t kPackedBytes = 96;

}  // namespace

RedisPeer::RedisPeer(const std::string& scratch,
                     const std::vector<std::string>& paths)
    : paths_(paths) {
  const int port = FreePort();
  process_ = std::make_unique<Process>(
      std::vector<std::string>{"redis-server", PEERS_CONFIG "/redis.conf",
                               "--port", std::to_string(port), "--dir", scratch,
                               "--logfile", scratch + "/redis.log"});
  WaitForPort(port, "redis-server");
  connection_ = redisConnect("127.0.0.1", port);
  if (connection_ == nullptr || connection_->err != 0)
    Die("redis: no connection");
  const std::string packed(kPackedBytes, '\x7f');
  for (const std::string& path : paths) {
    std::vector<std::string> words = {"HSET", "h:" + path};
    for (const char* field :
         {"mode", "nlink", "uid", "gid", "ino", "size", "blocks", "atime",
          "mtime", "ctime", "btime", "dev", "blksize"}) {
      words.emplace_back(field);
      words.push_back(std::to_string(1'700'000'000 + words.size()));
    }
    std::vector<const char*> pointers;
    std::vector<size_t> sizes;
    for (const std::string& word : words) {
      pointers.push_back(word.data());
      sizes.push_back(word.size());
    }
    freeReplyObject(redisCommandArgv(connection_,
                                     static_cast<int>(words.size()),
                                     pointers.data(), sizes.data()));
    freeReplyObject(redisCommand(connection_, "SET p:%b %b", path.data(),
                                 path.size(), packed.data(), packed.size()));
  }
}

RedisPeer::~RedisPeer() { redisFree(connection_); }

void RedisPeer::Send(Form form) {
  for (const std::string& path : paths_) {
    redisAppendCommand(connection_,
                       form == Form::kHash ? "HGETALL h:%b" : "GET p:%b",
                       path.data(), path.size());
  }
  int done = 0;
  while (done == 0) {
    if (redisBufferWrite(connection_, &done) != REDIS_OK)
      Die(fmt::format("redis: {}", connection_->errstr));
  }
}

void RedisPeer::Receive(Form form) {
  for (size_t i = 0; i < paths_.size(); ++i) {
    void* raw = nullptr;
    if (redisGetReply(connection_, &raw) != REDIS_OK)
      Die(fmt::format("redis: {}", connection_->errstr));
    auto* reply = static_cast<redisReply*>(raw);
    const bool right =
        form == Form::kHash
            ? reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 * kFields
            : reply->type == REDIS_REPLY_STRING && reply->len == kPackedBytes;
    if (!right) Die("redis: a wrong answer");
    freeReplyObject(reply);
  }
}

uint64_t RedisPeer::Ask(Form form, int pipelines) {
  Send(form);
  for (int i = 1; i < pipelines; ++i) {
    Send(form);
    Receive(form);
  }
  Receive(form);
  return static_cast<uint64_t>(pipelines) * paths_.size();
}

}  // namespace wirebench
