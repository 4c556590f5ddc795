#include "client/lib/channel.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace vfsclient {

std::shared_ptr<grpc::Channel> MakeChannel(const Address& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A reply is as large as the request asked for (a batch of stats, a page of
  // names), so the limit that matters is the one on requests.
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(
      address.GrpcTarget(), grpc::InsecureChannelCredentials(), arguments);
}

std::expected<std::shared_ptr<grpc::Channel>, Error> Connect(
    const Address& address, std::chrono::milliseconds timeout) {
  std::shared_ptr<grpc::Channel> channel = MakeChannel(address);
  const auto deadline = std::chrono::system_clock::now() + timeout;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    // A refused connection is an answer; a name server or host that is silent
    // uses the whole time.
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return std::unexpected(
          Error::Transport(grpc::StatusCode::UNAVAILABLE,
                           fmt::format("cannot connect to {} (is the server "
                                       "running, and on this address?)",
                                       address.Text())));
    }
    if (!channel->WaitForStateChange(state, deadline)) {
      return std::unexpected(
          Error::Transport(grpc::StatusCode::DEADLINE_EXCEEDED,
                           fmt::format("no connection to {} within {} ms",
                                       address.Text(), timeout.count())));
    }
    state = channel->GetState(/*try_to_connect=*/true);
  }
  return channel;
}

}  // namespace vfsclient
