#include "server/rpc/transport_options.h"

namespace vfsd::rpc {
namespace {

// Beyond the limit that clients are told, so that what is a little too large
// gets a reason from us instead of a bare status from gRPC.
constexpr int kReceiveSlackBytes = 1024 * 1024;
// A connection holds no more calls at once; a client's further ones wait there.
constexpr int kMaxCallsPerConnection = 4096;
// Clients may keep idle connections alive with a ping in this time.
constexpr int kMinPingIntervalMilliseconds = 10'000;

}  // namespace

void SetTransportOptions(uint32_t max_message_bytes,
                         grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes) +
                                   kReceiveSlackBytes);
  builder.SetMaxSendMessageSize(-1);
  // Without this a second server could take over the port unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxCallsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingIntervalMilliseconds);
}

}  // namespace vfsd::rpc
