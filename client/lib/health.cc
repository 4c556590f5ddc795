#include "client/lib/health.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vfsclient {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kServiceTag =
    WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kStatusTag =
    WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_VARINT);

grpc::ByteBuffer EncodeRequest(std::string_view service) {
  std::string bytes;
  if (!service.empty()) {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteTag(kServiceTag);
    out.WriteVarint32(static_cast<uint32_t>(service.size()));
    out.WriteRaw(service.data(), static_cast<int>(service.size()));
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

bool DecodeReply(const grpc::ByteBuffer& reply, ServingStatus* status) {
  grpc::Slice slice;
  if (!reply.DumpToSingleSlice(&slice).ok()) return false;
  google::protobuf::io::CodedInputStream in(slice.begin(),
                                            static_cast<int>(slice.size()));
  uint64_t value = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag == kStatusTag) {
      if (!in.ReadVarint64(&value)) return false;
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
  }
  if (!in.ConsumedEntireMessage()) return false;
  *status =
      value <= 3 ? static_cast<ServingStatus>(value) : ServingStatus::kUnknown;
  return true;
}

}  // namespace

std::string_view ServingStatusName(ServingStatus status) {
  switch (status) {
    case ServingStatus::kUnknown:
      return "UNKNOWN";
    case ServingStatus::kServing:
      return "SERVING";
    case ServingStatus::kNotServing:
      return "NOT_SERVING";
    case ServingStatus::kServiceUnknown:
      return "SERVICE_UNKNOWN";
  }
  return "UNKNOWN";
}

std::expected<ServingStatus, Error> CheckHealth(
    const std::shared_ptr<grpc::Channel>& channel, std::string_view service,
    std::chrono::milliseconds timeout) {
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  context.set_wait_for_ready(false);
  const grpc::ByteBuffer request = EncodeRequest(service);
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                    request, &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (!status.ok()) return std::unexpected(Error::FromStatus(status));
  ServingStatus serving = ServingStatus::kUnknown;
  if (!DecodeReply(reply, &serving)) {
    return std::unexpected(Error::Transport(grpc::StatusCode::INTERNAL,
                                            "the health reply does not parse"));
  }
  return serving;
}

}  // namespace vfsclient
