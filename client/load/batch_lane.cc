#include "client/load/batch_lane.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "client/load/playlist.h"
#include "client/load/reply_template.h"
#include "client/load/request_encoding.h"

namespace vfsload {
namespace {

using Clock = std::chrono::steady_clock;

// Different messages of a stream: so many that they hold about kVariety
// operations, within bounds.
constexpr size_t kVariety = 8192;
constexpr size_t kMinMessages = 2;
constexpr size_t kMaxMessages = 256;

// A message, ready to send, and what is known of its reply.
struct Message {
  grpc::ByteBuffer bytes;
  size_t encoded_size = 0;
  std::vector<const Unit*> units;
  std::vector<const Step*> steps;
  ReplyTemplate reply;
  // What a right reply counts: operation, errno, how often.
  struct Count {
    Operation operation;
    int errno_code;
    uint64_t n;
  };
  std::vector<Count> counts;

  Message(std::vector<const Unit*> message_units, EncodedBatch encoded)
      : encoded_size(encoded.bytes.size()),
        units(std::move(message_units)),
        steps(std::move(encoded.steps)) {
    bytes = ToByteBuffer(encoded.bytes);
    std::map<std::pair<Operation, int>, uint64_t> sums;
    for (const Step* step : steps)
      ++sums[{KindOf(step->operation), step->expected.errno_code}];
    for (const auto& [key, n] : sums) {
      counts.push_back({key.first, key.second, n});
    }
  }
};

class BatchLane final : public Lane {
 public:
  BatchLane(const LaneContext& context, SlotUnits units,
            const BatchShape& shape)
      : lane_(context),
        units_(std::move(units)),
        window_(shape.window),
        columns_(shape.columns) {}

  // Lays the units out as messages.
  std::expected<void, std::string> Prepare(size_t operations) {
    Playlist playlist(units_.units, kVariety, units_.seed);
    const size_t count =
        std::clamp(kVariety / operations, kMinMessages, kMaxMessages);
    // Started with the unit that did not fit the message before.
    const Unit* next = &playlist.Next();
    for (size_t i = 0; i < count; ++i) {
      std::vector<const Unit*> units;
      size_t filled = 0;
      do {
        filled += next->steps.size();
        units.push_back(next);
        next = &playlist.Next();
      } while (filled + next->steps.size() <= operations);
      if (auto fits = AddMessage(std::move(units)); !fits) return fits;
    }
    return {};
  }

  void Start() override {
    idle_ = false;
    stream_ = lane_.connection.stub().PrepareCall(
        &context_, MethodPath(kBatchMethod), &lane_.queue);
    lane_.recorder.CountStarted(kBatchMethod);
    stream_->StartCall(Tag(kStarted));
  }

  bool Wake() override {
    if (!parked_) return false;
    Pump();
    return !parked_;
  }

  bool Idle() const override { return idle_; }
  void Cancel() override {
    if (!idle_) context_.TryCancel();
  }

 private:
  enum Event { kStarted, kWritten, kRead, kWritesDone, kFinished };

  // Tells the lane which of its calls completed.
  class EventTag final : public CompletionTag {
   public:
    void Init(BatchLane* lane, Event event) {
      lane_ = lane;
      event_ = event;
    }
    void OnCompletion(bool ok) override { lane_->OnEvent(event_, ok); }

   private:
    BatchLane* lane_ = nullptr;
    Event event_ = kStarted;
  };

  struct Sent {
    Message* message;
    Clock::time_point at;
    Clock::time_point intended;
  };

  CompletionTag* Tag(Event event) {
    EventTag& tag = tags_[event];
    tag.Init(this, event);
    return &tag;
  }

  std::expected<EncodedBatch, std::string> Encode(
      const std::vector<const Unit*>& units) const {
    const uint64_t session = lane_.connection.session().id();
    return columns_ ? EncodeColumns(units, session)
                    : EncodeBatch(units, session);
  }

  std::expected<void, std::string> AddMessage(std::vector<const Unit*> units) {
    const auto& limits = lane_.connection.session().info();
    auto encoded = Encode(units);
    if (!encoded) return std::unexpected(encoded.error());
    Message message(std::move(units), *std::move(encoded));
    if (message.steps.size() > limits.max_batch_operations()) {
      return std::unexpected(fmt::format(
          "a message of {} operations is over the server's limit of {}; use a "
          "smaller --batch",
          message.steps.size(), limits.max_batch_operations()));
    }
    if (message.encoded_size > limits.max_message_bytes()) {
      return std::unexpected(fmt::format(
          "a message of {} bytes is over the server's limit of {}; use a "
          "smaller --batch",
          message.encoded_size, limits.max_message_bytes()));
    }
    messages_.push_back(std::move(message));
    return {};
  }

  void OnEvent(Event event, bool ok) {
    switch (event) {
      case kStarted:
        if (!ok) return Finish();
        reading_ = true;
        stream_->Read(&reply_, Tag(kRead));
        return Pump();
      case kWritten:
        writing_ = false;
        // A write that fails means that the stream is over; reading tells why.
        if (ok) Pump();
        return MaybeFinish();
      case kRead:
        reading_ = false;
        if (!ok) {
          ended_ = true;
          return MaybeFinish();
        }
        OnReply();
        reading_ = true;
        stream_->Read(&reply_, Tag(kRead));
        return Pump();
      case kWritesDone:
        writing_ = false;
        return MaybeFinish();
      case kFinished:
        return OnFinished();
    }
  }

  // Sends what the window and the pacer allow; says goodbye when all is done.
  void Pump() {
    if (writing_ || ended_ || done_) return;
    if (in_flight_.size() < window_ && !stopping_) {
      Clock::time_point intended;
      if (Message* message = NextMessage(&intended)) {
        writing_ = true;
        in_flight_.push_back({message, Clock::now(), intended});
        lane_.recorder.CountSent();
        return stream_->Write(message->bytes, Tag(kWritten));
      }
      if (parked_) return;
      stopping_ = true;
    }
    if (stopping_ && in_flight_.empty()) {
      writing_ = true;
      done_ = true;
      stream_->WritesDone(Tag(kWritesDone));
    }
  }

  // nullptr: there is nothing to send, now (parked_) or ever.
  Message* NextMessage(Clock::time_point* intended) {
    Message* message = &messages_[next_];
    const uint64_t wanted = message->units.size();
    const Pacer::Grant grant =
        lane_.pacer.Take(wanted, message->steps.size(), Clock::now());
    parked_ = grant.units == 0 && !grant.over;
    *intended = grant.intended;
    const uint64_t taken = grant.units;
    if (taken == 0) return nullptr;
    if (++next_ == messages_.size()) next_ = 0;
    if (taken == wanted) return message;
    // The last of a counted load is shorter.
    std::vector<const Unit*> rest(
        message->units.begin(),
        message->units.begin() + static_cast<ptrdiff_t>(taken));
    // What is a part of a message that could be encoded can be encoded.
    EncodedBatch encoded = Encode(rest).value();
    tail_.emplace_back(std::move(rest), std::move(encoded));
    return &tail_.back();
  }

  void OnReply() {
    // More replies than messages would be the server's fault.
    if (in_flight_.empty()) {
      lane_.recorder.CountWrong();
      lane_.state.Complain("the server sent a reply that nobody asked for");
      return;
    }
    const Sent sent = in_flight_.front();
    in_flight_.pop_front();
    lane_.recorder.CountReceived();
    const std::string_view bytes = Flatten();
    UnitClock clock(lane_.recorder, lane_.expected, open_loop_);
    clock.Begin(sent.intended);
    clock.Sent(sent.at);
    clock.Done(kBatchMethod, Clock::now());
    Check(*sent.message, bytes);
    reply_.Clear();
  }

  void Check(Message& message, std::string_view bytes) {
    if (message.reply.Matches(bytes)) return CountRight(message);
    const auto verdicts = lane_.check.CheckBatch(message.steps, bytes);
    if (std::ranges::all_of(verdicts, &Verdict::right)) {
      message.reply.Learn(bytes);
      return CountRight(message);
    }
    for (size_t i = 0; i < verdicts.size(); ++i) {
      lane_.recorder.CountOperations(KindOf(message.steps[i]->operation),
                                     verdicts[i].errno_code);
      if (verdicts[i].right()) continue;
      lane_.recorder.CountWrong();
      lane_.state.Complain(verdicts[i].complaint);
    }
  }

  void CountRight(const Message& message) {
    for (const Message::Count& count : message.counts) {
      lane_.recorder.CountOperations(count.operation, count.errno_code,
                                     count.n);
    }
  }

  // The reply in one piece: its own memory where it is one slice, else copied
  // into a buffer that is kept (a fifth of a nanosecond an operation).
  std::string_view Flatten() {
    if (reply_.TrySingleSlice(&single_).ok()) {
      return {reinterpret_cast<const char*>(single_.begin()), single_.size()};
    }
    slices_.clear();
    flat_.clear();
    if (!reply_.Dump(&slices_).ok()) return {};
    for (const grpc::Slice& slice : slices_) {
      flat_.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    return flat_;
  }

  void MaybeFinish() {
    if (ended_ && !writing_ && !reading_) Finish();
  }

  void Finish() { stream_->Finish(&status_, Tag(kFinished)); }

  void OnFinished() {
    lane_.recorder.CountHandled(kBatchMethod, status_.error_code());
    // What has no answer will have none.
    lane_.recorder.CountReceived(in_flight_.size());
    if (!status_.ok()) {
      lane_.recorder.CountFailed(status_.error_code());
      lane_.state.Fail(vfsclient::Error::FromStatus(status_));
    } else if (!in_flight_.empty() || !done_) {
      lane_.state.Fail(vfsclient::Error::Transport(
          grpc::StatusCode::UNAVAILABLE,
          "the server ended the batch stream early"));
    }
    in_flight_.clear();
    idle_ = true;
  }

  LaneContext lane_;
  const SlotUnits units_;
  const size_t window_;
  const bool columns_;
  std::deque<Message> messages_;
  std::deque<Message> tail_;
  size_t next_ = 0;

  std::array<EventTag, 5> tags_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  std::deque<Sent> in_flight_;
  const bool open_loop_ = lane_.pacer.open_loop();
  bool idle_ = true;
  bool parked_ = false;    // waits for the time of its next message
  bool writing_ = false;   // a Write or WritesDone is under way
  bool reading_ = false;   // a Read is under way
  bool stopping_ = false;  // the pacer gives no more
  bool done_ = false;      // WritesDone was called
  bool ended_ = false;     // a Read found the end

  grpc::ByteBuffer reply_;
  grpc::Status status_;
  grpc::Slice single_;
  std::vector<grpc::Slice> slices_;
  std::string flat_;
};

}  // namespace

std::expected<std::unique_ptr<Lane>, std::string> MakeBatchLane(
    const LaneContext& context, SlotUnits units, const BatchShape& shape) {
  auto lane = std::make_unique<BatchLane>(context, std::move(units), shape);
  if (auto prepared = lane->Prepare(shape.operations); !prepared) {
    return std::unexpected(prepared.error());
  }
  return lane;
}

}  // namespace vfsload
