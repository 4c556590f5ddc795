// The request decoder against the generated classes: the same meaning for
// everything that an encoder writes, and the same verdict on broken bytes.
#include "server/rpc/request_decoder.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/rpc/request_comparison.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class RandomMessages {
 public:
  explicit RandomMessages(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool Chance(int percent) {
    return Below(100) < static_cast<uint64_t>(percent);
  }

  // Sets some of the fields, at random.
  void Fill(Message& message, int depth = 0) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      if (field->is_repeated()) {
        for (uint64_t n = Below(depth == 0 ? 8 : 4); n > 0; --n)
          Set(message, *field, depth, true);
      } else if (Chance(50)) {
        Set(message, *field, depth, false);
      }
    }
  }

  std::string Mutate(std::string bytes) {
    for (uint64_t n = 1 + Below(3); n > 0; --n) {
      if (bytes.empty()) {
        bytes.push_back(static_cast<char>(Below(256)));
        continue;
      }
      const size_t at = Below(bytes.size());
      switch (Below(4)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
          break;
        case 1:
          bytes.erase(at, 1 + Below(4));
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(Below(256)));
          break;
        default:
          bytes.resize(at);
          break;
      }
    }
    return bytes;
  }

 private:
  uint64_t Number() { return Chance(30) ? Below(4) : random_() >> Below(64); }

  std::string Text() {
    static const char* const kPieces[] = {
        "/",      "a",          "name",
        "..",     ".",          "\u00e9",
        "\u20ac", "\U0001F600", "a-long-component-name",
        ""};
    std::string text;
    for (uint64_t n = Below(6); n > 0; --n)
      text += kPieces[Below(std::size(kPieces))];
    return text;
  }

  void Set(Message& message, const FieldDescriptor& field, int depth,
           bool add) {
    const auto& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(add ? *reflection.AddMessage(&message, &field)
                 : *reflection.MutableMessage(&message, &field),
             depth + 1);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(
            &message, &field,
            field.type() == FieldDescriptor::TYPE_BYTES && Chance(50)
                ? std::string("\xff\x00/", 3)
                : Text());
        break;
      case FieldDescriptor::CPPTYPE_UINT32: {
        const auto value = static_cast<uint32_t>(Number());
        if (add) {
          reflection.AddUInt32(&message, &field, value);
        } else {
          reflection.SetUInt32(&message, &field, value);
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_UINT64:
        if (add) {
          reflection.AddUInt64(&message, &field, Number());
        } else {
          reflection.SetUInt64(&message, &field, Number());
        }
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&message, &field, static_cast<int64_t>(Number()));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&message, &field, Chance(50));
        break;
      default:
        FAIL() << "a field type that requests did not have: "
               << field.full_name();
    }
  }

  std::mt19937_64 random_;
};

class RequestDecoderTest : public testing::Test {
 protected:
  RequestDecoderTest() : seed_(std::random_device()()), messages_(seed_) {
    std::cerr << "seed " << seed_ << "\n";
  }

  const uint64_t seed_;
  RandomMessages messages_;
};

TEST_F(RequestDecoderTest, MeansWhatTheGeneratedClassesMean) {
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    v1::BatchRequest message;
    messages_.Fill(message);
    ExpectSameBatch(message.SerializeAsString(), message);
  }
}

// Parsers merge what is concatenated: the last scalar counts, repeated fields
// append, submessages of a oneof merge if they are of one kind.
TEST_F(RequestDecoderTest, MergesWhatIsConcatenated) {
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    v1::BatchOperation first;
    v1::BatchOperation second;
    messages_.Fill(first);
    messages_.Fill(second);
    v1::BatchRequest outer;
    const std::string joined =
        first.SerializeAsString() + second.SerializeAsString();
    ASSERT_TRUE(outer.add_operations()->ParseFromString(joined));
    std::string bytes = "\x1a";
    for (size_t length = joined.size();;) {
      bytes.push_back(
          static_cast<char>(length < 0x80 ? length : (length & 0x7f) | 0x80));
      if (length < 0x80) break;
      length >>= 7;
    }
    ExpectSameBatch(bytes + joined, outer);
  }
}

TEST_F(RequestDecoderTest, BrokenBytesAreBrokenForBoth) {
  // The generated classes log every bad string.
  google::protobuf::LogSilencer silencer;
  int broken = 0;
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    v1::BatchRequest message;
    messages_.Fill(message);
    const std::string bytes = messages_.Mutate(message.SerializeAsString());
    v1::BatchRequest parsed;
    if (parsed.ParseFromString(bytes)) {
      ExpectSameBatch(bytes, parsed);
    } else {
      ++broken;
      RequestDecoder decoder;
      BatchOfRequests batch;
      EXPECT_EQ(decoder.DecodeBatch(bytes, kMaxOperations, batch),
                RequestDecoder::Outcome::kMalformed)
          << testing::PrintToString(bytes);
    }
  }
  EXPECT_GT(broken, 1000);
}

TEST_F(RequestDecoderTest, CountsOperations) {
  v1::BatchRequest message;
  for (int i = 0; i < 3; ++i) message.add_operations();
  RequestDecoder decoder;
  BatchOfRequests batch;
  EXPECT_EQ(decoder.DecodeBatch(message.SerializeAsString(), 3, batch),
            RequestDecoder::Outcome::kOk);
  EXPECT_EQ(decoder.DecodeBatch(message.SerializeAsString(), 2, batch),
            RequestDecoder::Outcome::kTooManyOperations);
}

}  // namespace
}  // namespace vfsd::rpc
