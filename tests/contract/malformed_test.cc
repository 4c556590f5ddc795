// Messages that do not mean anything, and methods that there are not.
#include <gmock/gmock.h>

#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

using namespace std::string_literals;

class MalformedTest : public ServiceTest {
 protected:
  std::string ReasonForBytes(const std::string& method,
                             const std::string& bytes) {
    std::string response;
    const grpc::Status status =
        CallRaw(channel(), "/vfs.v1.VfsService/" + method, bytes, &response);
    if (status.ok()) return "OK";
    const std::string reason = ReasonOf(status);
    if (reason == "MALFORMED_REQUEST") {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    }
    return reason;
  }
};
VFSD_SERVICE_TESTS(MalformedTest);

TEST_P(MalformedTest, EveryMethodSaysSo) {
  for (const char* method : {"OpenSession", "KeepAlive", "CloseSession", "Open",
                             "Close", "Stat", "Access", "Read", "ReadDirectory",
                             "MakeDirectory", "Unlink", "Rename"}) {
    // A length beyond the end; the field number 0; the end of no group; a
    // varint without an end; wire type 7.
    for (const std::string& bytes :
         {"\x22\x7fxx"s, "\x00\x00"s, "\x0c"s, "\x08\xff"s, "\x0f"s,
          "\x09\x01\x02"s,
          "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}) {
      EXPECT_EQ(ReasonForBytes(method, bytes), "MALFORMED_REQUEST")
          << method << " " << testing::PrintToString(bytes);
    }
  }
}

TEST_P(MalformedTest, StringsMustBeUtf8) {
  // path = 4
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x03/\xc3\xa9"s), "ENOENT");
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x02/\xe9"s), "MALFORMED_REQUEST");
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x03/\xc0\xaf"s), "MALFORMED_REQUEST")
      << "overlong";
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x04/\xed\xa0\x80"s),
            "MALFORMED_REQUEST")
      << "surrogate";
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x05/\xf4\x90\x80\x80"s),
            "MALFORMED_REQUEST");
  // raw_path = 5 takes anything
  EXPECT_EQ(ReasonForBytes("Stat", "\x2a\x02/\xe9"s), "ENOENT");
  // client_name = 5
  EXPECT_EQ(ReasonForBytes("OpenSession", "\x2a\x01\xff"s),
            "MALFORMED_REQUEST");
}

TEST_P(MalformedTest, MalformedPartsOfAMessage) {
  // credentials = 9 with a truncated field inside; groups = 3, packed, with an
  // endless varint.
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x01/\x4a\x01\x08"s),
            "MALFORMED_REQUEST");
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x01/\x4a\x03\x1a\x01\xff"s),
            "MALFORMED_REQUEST");
}

TEST_P(MalformedTest, WhatIsUnknownIsSkipped) {
  v1::StatRequest stat;
  stat.set_path("/");
  const std::string bytes = stat.SerializeAsString();
  // Field 100 as varint, fixed64, bytes, group and fixed32.
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\xa0\x06\x01"s), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\xa1\x06"s + "12345678"), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\xa2\x06\x02hi"s), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\xa3\x06\x08\x01\xa4\x06"s), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\xa5\x06"s + "1234"), "OK");
  // A known field of another wire type: path = 4 as a varint.
  EXPECT_EQ(ReasonForBytes("Stat", bytes + "\x20\x01"s), "OK");
  // Of a field that comes twice the last one counts; also in a oneof.
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x05/none\x22\x01/"s), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", "\x22\x01/\x2a\x05/none"s), "ENOENT");
}

TEST_P(MalformedTest, EmptyMessagesAreMessages) {
  EXPECT_EQ(ReasonForBytes("OpenSession", ""), "OK");
  EXPECT_EQ(ReasonForBytes("Stat", ""), "EFAULT");
  EXPECT_EQ(ReasonForBytes("Close", ""), "SESSION_REQUIRED");
  // The session that the first line opened.
  ASSERT_EQ(service().instance().sessions().List().size(), 1u);
  CloseSession(service().instance().sessions().List().front()->id());
}

TEST_P(MalformedTest, MethodsThatThereAreNot) {
  std::string response;
  EXPECT_EQ(
      CallRaw(channel(), "/vfs.v1.VfsService/Fly", "", &response).error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(
      CallRaw(channel(), "/vfs.v2.VfsService/Stat", "", &response).error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace vfsd::contract
