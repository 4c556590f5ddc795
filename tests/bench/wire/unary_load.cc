#include "tests/bench/wire/unary_load.h"

#include <fmt/format.h>

#include <utility>

#include "tests/bench/wire/process.h"

namespace wirebench {

grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

UnaryLoad::UnaryLoad(Plan plan) : plan_(std::move(plan)) {
  for (const auto& channel : plan_.channels)
    stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
  for (size_t i = 0; i < plan_.in_flight; ++i) {
    calls_.push_back(std::make_unique<Call>());
    calls_.back()->channel = i % stubs_.size();
  }
}

UnaryLoad::~UnaryLoad() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void UnaryLoad::Start(Call& call) {
  call.reader.reset();
  call.context.emplace();
  call.reader = stubs_[call.channel]->PrepareUnaryCall(
      &*call.context, plan_.method, plan_.requests[next_request_], &queue_);
  if (++next_request_ == plan_.requests.size()) next_request_ = 0;
  call.reader->StartCall();
  call.reader->Finish(&call.reply, &call.status, &call);
}

UnaryLoad::Call& UnaryLoad::Next() {
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  Call& call = *static_cast<Call*>(tag);
  if (call.status.error_code() != plan_.code) {
    Die(fmt::format("{}: status {} ({})", plan_.method,
                    static_cast<int>(call.status.error_code()),
                    call.status.error_message()));
  }
  if (plan_.reply) plan_.reply(call.reply);
  return call;
}

uint64_t UnaryLoad::Run(std::chrono::nanoseconds duration, uint64_t most) {
  const auto end = std::chrono::steady_clock::now() + duration;
  uint64_t started = 0;
  uint64_t ended = 0;
  for (const auto& call : calls_) {
    if (started == most) break;
    Start(*call);
    ++started;
  }
  while (ended < started) {
    Call& call = Next();
    ++ended;
    // Looking at the clock each time would be a cost of its own.
    if (started < most &&
        (ended % 16 != 0 || std::chrono::steady_clock::now() < end)) {
      Start(call);
      ++started;
    } else {
      most = started;
    }
  }
  return ended;
}

void UnaryLoad::RunOneByOne(uint64_t calls, std::vector<double>& latencies) {
  for (uint64_t i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    Start(*calls_.front());
    Next();
    latencies.push_back(static_cast<double>(
        (std::chrono::steady_clock::now() - begin).count()));
  }
}

}  // namespace wirebench
