#include "tests/bench/wire/batch_load.h"

#include <fmt/format.h>

#include <utility>

#include "tests/bench/wire/process.h"

namespace wirebench {
namespace {

void* Tag(intptr_t event) { return reinterpret_cast<void*>(event); }

}  // namespace

BatchLoad::BatchLoad(const std::shared_ptr<grpc::Channel>& channel,
                     uint64_t session, BatchMessage message, size_t window)
    : message_(std::move(message)),
      window_(window),
      session_(session),
      stub_(vfs::v1::VfsService::NewStub(channel)) {
  stream_ = stub_->PrepareAsyncBatch(&context_, &queue_);
  stream_->StartCall(Tag(kStarted));
  Next();
}

BatchLoad::~BatchLoad() {
  context_.TryCancel();
  grpc::Status status;
  stream_->Finish(&status, Tag(kFinished));
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

BatchLoad::Event BatchLoad::Next() {
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  if (!ok) {
    grpc::Status status;
    stream_->Finish(&status, Tag(kFinished));
    queue_.Next(&tag, &ok);
    Die(fmt::format("a batch stream ended: {}", status.error_message()));
  }
  return static_cast<Event>(reinterpret_cast<intptr_t>(tag));
}

void BatchLoad::Send() {
  batch_.Clear();
  operations_ = message_.build(batch_);
  batch_.mutable_request()->set_session(session_);
  stream_->Write(batch_.request(), Tag(kWritten));
}

uint64_t BatchLoad::Run(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  uint64_t messages = 0;
  size_t under_way = 0;
  bool writing = false;
  bool stopping = false;
  stream_->Read(&response_, Tag(kRead));
  for (;;) {
    if (!writing && !stopping && under_way < window_) {
      Send();
      writing = true;
      ++under_way;
    }
    switch (Next()) {
      case kWritten:
        writing = false;
        break;
      case kRead:
        if (!message_.check(response_)) Die("a batch: a wrong answer");
        ++messages;
        --under_way;
        stopping = stopping || std::chrono::steady_clock::now() >= end;
        if (stopping && under_way == 0 && !writing)
          return messages * operations_;
        if (under_way > 0 || !stopping) stream_->Read(&response_, Tag(kRead));
        break;
      default:
        break;
    }
    if (stopping && under_way == 0 && !writing) return messages * operations_;
  }
}

}  // namespace wirebench
