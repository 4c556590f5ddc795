// A gRPC channel to a vfsd, tuned for many small calls.
//
// Each channel has a connection of its own (a local subchannel pool): calls on
// one connection serialise, so a client that wants more throughput opens
// several. Client retries are off, because they cost a tenth of the throughput
// and would hide from the caller that an operation may have run twice; vfs.v1
// has request ids for that. Proxies from the environment are not used.
#ifndef CLIENT_LIB_CHANNEL_H_
#define CLIENT_LIB_CHANNEL_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <expected>
#include <memory>

#include "client/lib/address.h"
#include "client/lib/error.h"

namespace vfsclient {

// Makes a channel; the connection follows with the first call.
std::shared_ptr<grpc::Channel> MakeChannel(const Address& address);

// Makes a channel and waits until it is connected. The error is a transport
// error with the cause ("Connection refused") as far as gRPC tells it.
std::expected<std::shared_ptr<grpc::Channel>, Error> Connect(
    const Address& address, std::chrono::milliseconds timeout);

}  // namespace vfsclient

#endif  // CLIENT_LIB_CHANNEL_H_
