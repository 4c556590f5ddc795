#include "tests/bench/peers/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/bench/wire/process.h"

namespace wirebench {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    Die("no free port");
  }
  close(fd);
  return ntohs(address.sin_port);
}

void WaitForPort(int port, const char* whose) {
  const sockaddr_in address = Loopback(port);
  for (int i = 0; i < 2000; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool connected =
        connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0;
    close(fd);
    if (connected) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Die(std::string(whose) + " did not start");
}

}  // namespace wirebench
