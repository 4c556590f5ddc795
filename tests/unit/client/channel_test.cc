#include "client/lib/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "client/lib/address.h"

namespace vfsclient {
namespace {

// Accepts connections (the kernel does) and says nothing, as a server does that
// is busy.
class SilentListener {
 public:
  SilentListener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket_, any, size) != 0 || listen(socket_, 16) != 0 ||
        getsockname(socket_, any, &size) != 0) {
      ADD_FAILURE() << "no listening socket";
    }
    port_ = ntohs(address.sin_port);
  }
  ~SilentListener() { close(socket_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  Address address() const {
    return *Address::Parse(fmt::format("127.0.0.1:{}", port_));
  }

 private:
  const int socket_;
  int port_ = 0;
};

// gRPC's shortest pause between attempts is also the time that an attempt gets:
// with a short one, a busy server would look like none.
TEST(Channel, ASlowServerIsGivenTheWholeTime) {
  const SilentListener listener;
  const auto channel =
      Connect(listener.address(), std::chrono::milliseconds(700));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().Name(), "DEADLINE_EXCEEDED")
      << channel.error().Text();
}

TEST(Channel, ARefusedConnectionIsToldAtOnce) {
  const Address address = SilentListener().address();
  const auto channel = Connect(address, std::chrono::minutes(1));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().Name(), "UNAVAILABLE") << channel.error().Text();
}

}  // namespace
}  // namespace vfsclient
