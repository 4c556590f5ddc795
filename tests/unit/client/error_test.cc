#include "client/lib/error.h"

#include <gtest/gtest.h>

#include <string>

#include "client/lib/errno_table.h"
#include "tests/unit/client/fake_server.h"

namespace vfsclient {
namespace {

TEST(ErrnoTable, NamesAndNumbers) {
  EXPECT_EQ(ErrnoName(0), "ok");
  EXPECT_EQ(ErrnoName(2), "ENOENT");
  EXPECT_EQ(ErrnoName(11), "EAGAIN");
  EXPECT_EQ(ErrnoName(95), "EOPNOTSUPP");
  EXPECT_EQ(ErrnoName(133), "EHWPOISON");
  EXPECT_EQ(ErrnoName(41), "E41");
  EXPECT_EQ(ErrnoName(4095), "E4095");
  EXPECT_EQ(FindErrno(-1), nullptr);
  EXPECT_EQ(FindErrno("EWHATEVER"), nullptr);
}

TEST(ErrnoTable, IsItsOwnInverse) {
  int known = 0;
  for (int number = 1; number < kErrnoLimit; ++number) {
    const ErrnoEntry* entry = FindErrno(number);
    if (entry == nullptr) continue;
    ++known;
    EXPECT_EQ(entry->number, number);
    ASSERT_NE(FindErrno(entry->name), nullptr) << entry->name;
    EXPECT_EQ(FindErrno(entry->name)->number, number);
  }
  // 1 to 133 but for 41 and 58, which Linux does not use.
  EXPECT_EQ(known, 131);
}

TEST(Error, ErrnoInBand) {
  const Error error = Error::Errno(2);
  EXPECT_EQ(error.kind(), Error::Kind::kErrno);
  EXPECT_TRUE(error.Is(kENOENT));
  EXPECT_EQ(error.Name(), "ENOENT");
  EXPECT_EQ(error.Text(), "No such file or directory (ENOENT)");
  EXPECT_EQ(Error::Errno(4000).Text(), "Unknown error (E4000)");
}

TEST(Error, ErrnoInErrorInfo) {
  const Error error = Error::FromStatus(
      StatusWithReason(grpc::StatusCode::NOT_FOUND, "ENOENT"));
  EXPECT_EQ(error.kind(), Error::Kind::kErrno);
  EXPECT_EQ(error.errno_number(), 2);
  EXPECT_EQ(error.code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error.Text(), "No such file or directory (ENOENT)");
}

TEST(Error, ReasonOfTheService) {
  const Error error = Error::FromStatus(
      StatusWithReason(grpc::StatusCode::UNAUTHENTICATED, "SESSION_EXPIRED"));
  EXPECT_EQ(error.kind(), Error::Kind::kReason);
  EXPECT_EQ(error.errno_number(), 0);
  EXPECT_EQ(error.Name(), "SESSION_EXPIRED");
  EXPECT_EQ(error.Text(), "as the server words it (SESSION_EXPIRED)");
}

TEST(Error, TransportWithoutOurDetails) {
  const grpc::Status statuses[] = {
      {grpc::StatusCode::UNAVAILABLE, "gone"},
      {grpc::StatusCode::UNAVAILABLE, "gone", "not a google.rpc.Status"},
  };
  for (const grpc::Status& status : statuses) {
    const Error error = Error::FromStatus(status);
    EXPECT_EQ(error.kind(), Error::Kind::kTransport);
    EXPECT_EQ(error.Name(), "UNAVAILABLE");
    EXPECT_EQ(error.Text(), "gone (UNAVAILABLE)");
  }
  // Somebody else's ErrorInfo says nothing about files.
  EXPECT_EQ(Error::FromStatus(StatusWithReason(grpc::StatusCode::NOT_FOUND,
                                               "ENOENT", "example.org"))
                .kind(),
            Error::Kind::kTransport);
}

TEST(Error, CodeNames) {
  EXPECT_EQ(StatusCodeName(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(StatusCodeName(grpc::StatusCode::UNAUTHENTICATED),
            "UNAUTHENTICATED");
  EXPECT_EQ(StatusCodeName(static_cast<grpc::StatusCode>(99)), "CODE_99");
}

}  // namespace
}  // namespace vfsclient
