// Fuzzes the request decoder, which reads what strangers send: any bytes must
// have the verdict, and where well formed the meaning, that the generated
// classes find in them. The same bytes are read as a batch and as every unary
// request.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/unit/rpc/request_comparison.h"

namespace vfsd::rpc {
namespace {

void Batch(const std::string& bytes) {
  v1::BatchRequest message;
  if (message.ParseFromString(bytes)) {
    if (static_cast<size_t>(message.operations_size()) <= kMaxOperations)
      ExpectSameBatch(bytes, message);
    return;
  }
  RequestDecoder decoder;
  BatchOfRequests batch;
  EXPECT_NE(decoder.DecodeBatch(bytes, kMaxOperations, batch),
            RequestDecoder::Outcome::kOk);
}

template <typename Operation>
void Unary(const std::string& bytes) {
  typename OperationApi<Operation>::Request message;
  RequestDecoder decoder;
  OperationRequest<Operation> request;
  const bool well_formed = message.ParseFromString(bytes);
  ASSERT_EQ(decoder.Decode(bytes, request), well_formed);
  if (well_formed) ExpectSame(request, message, decoder.credentials());
}

template <typename... Operations>
void EveryUnary(const std::string& bytes, OperationList<Operations...>) {
  (Unary<Operations>(bytes), ...);
}

}  // namespace
}  // namespace vfsd::rpc

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // A difference ends the run where it is: what is thrown is not caught, and
  // libFuzzer keeps the input.
  GTEST_FLAG_SET(throw_on_failure, true);
  // The generated classes log every string that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  vfsd::rpc::Batch(bytes);
  vfsd::rpc::EveryUnary(bytes, vfsd::rpc::AllOperations());
  return 0;
}
