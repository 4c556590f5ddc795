#include "client/lib/batch_stream.h"

#include <utility>

namespace vfsclient {

BatchStream::BatchStream(vfs::v1::VfsService::Stub& stub, uint64_t session)
    : session_(session), stream_(stub.Batch(&context_)) {}

BatchStream::~BatchStream() {
  if (finished_) return;
  context_.TryCancel();
  // gRPC wants every stream's status to be taken.
  static_cast<void>(stream_->Finish());
}

std::expected<void, Error> BatchStream::Send(Batch* batch) {
  batch->mutable_request()->set_session(session_);
  if (!stream_->Write(batch->request())) {
    return std::unexpected(Error::Transport(grpc::StatusCode::UNAVAILABLE,
                                            "the stream has ended"));
  }
  return {};
}

std::expected<vfs::v1::BatchResponse, Error> BatchStream::Receive() {
  vfs::v1::BatchResponse response;
  if (!stream_->Read(&response)) return std::unexpected(EndOfStream());
  return response;
}

std::expected<vfs::v1::BatchResponse, Error> BatchStream::Run(Batch* batch) {
  // When sending fails, the reason is what the stream ended with.
  if (!Send(batch)) return std::unexpected(EndOfStream());
  return Receive();
}

std::expected<void, Error> BatchStream::Finish() {
  if (!finished_) {
    stream_->WritesDone();
    vfs::v1::BatchResponse dropped;
    while (stream_->Read(&dropped)) {
    }
    status_ = stream_->Finish();
    finished_ = true;
  }
  if (!status_.ok()) return std::unexpected(Error::FromStatus(status_));
  return {};
}

Error BatchStream::EndOfStream() {
  if (!finished_) {
    status_ = stream_->Finish();
    finished_ = true;
  }
  if (status_.ok()) {
    return Error::Transport(grpc::StatusCode::UNAVAILABLE,
                            "the stream has ended");
  }
  return Error::FromStatus(status_);
}

}  // namespace vfsclient
