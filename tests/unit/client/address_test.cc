#include "client/lib/address.h"

#include <gtest/gtest.h>

#include <string>

namespace vfsclient {
namespace {

TEST(Address, HostAndPort) {
  const auto address = Address::Parse("localhost:9150");
  ASSERT_TRUE(address) << address.error();
  EXPECT_EQ(address->host(), "localhost");
  EXPECT_EQ(address->port(), 9150);
  EXPECT_FALSE(address->IsUnix());
  EXPECT_EQ(address->Text(), "localhost:9150");
  EXPECT_EQ(address->GrpcTarget(), "dns:///localhost:9150");
}

TEST(Address, Ipv6GoesInBrackets) {
  const auto address = Address::Parse("[::1]:9150");
  ASSERT_TRUE(address) << address.error();
  EXPECT_EQ(address->host(), "::1");
  EXPECT_EQ(address->Text(), "[::1]:9150");
  EXPECT_FALSE(Address::Parse("::1:9150"));
  EXPECT_FALSE(Address::Parse("[::1:9150"));
  EXPECT_FALSE(Address::Parse("[localhost]:9150"));
}

TEST(Address, UnixSocket) {
  for (const char* text : {"unix:/run/vfsd.sock", "unix:///run/vfsd.sock"}) {
    const auto address = Address::Parse(text);
    ASSERT_TRUE(address) << address.error();
    EXPECT_TRUE(address->IsUnix());
    EXPECT_EQ(address->path(), "/run/vfsd.sock");
    EXPECT_EQ(address->GrpcTarget(), "unix:/run/vfsd.sock");
  }
  EXPECT_TRUE(Address::Parse("unix:relative.sock"));
  EXPECT_FALSE(Address::Parse("unix:"));
  EXPECT_TRUE(Address::Parse("unix:" + std::string(107, 'a')));
  EXPECT_FALSE(Address::Parse("unix:" + std::string(108, 'a')));
}

TEST(Address, WhatIsNoneIsSaidToBe) {
  for (const char* text : {"", "localhost", ":9150", "localhost:",
                           "localhost:0", "localhost:65536", "localhost:9150x",
                           "localhost:-1", "http://x:1", "a b:1"}) {
    const auto address = Address::Parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().find("host:port"), std::string::npos);
  }
}

}  // namespace
}  // namespace vfsclient
