#include "client/load/unary_lane.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "client/load/playlist.h"
#include "client/load/request_encoding.h"

namespace vfsload {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough that drawn frequencies are close to the weights.
constexpr size_t kPlaylistLength = 4096;

// A reply's bytes as one piece; `holder` keeps them.
std::string_view Flatten(const grpc::ByteBuffer& reply, grpc::Slice* holder) {
  if (!reply.TrySingleSlice(holder).ok() &&
      !reply.DumpToSingleSlice(holder).ok()) {
    return {};
  }
  return {reinterpret_cast<const char*>(holder->begin()), holder->size()};
}

class Slot final : public CompletionTag {
 public:
  // Puts itself on `parking` when it comes to wait.
  Slot(const LaneContext& lane, SlotUnits units, std::vector<Slot*>& parking)
      : lane_(lane),
        parking_(parking),
        units_(std::move(units.units)),
        playlist_(units_, kPlaylistLength, units.seed),
        clock_(lane.recorder, lane.expected, lane.pacer.open_loop()) {
    const uint64_t session = lane.connection.session().id();
    for (const Unit& unit : units_) {
      for (const Step& step : unit.steps) {
        requests_.try_emplace(&step, step, session);
      }
    }
  }

  bool idle() const { return idle_; }
  // Waits for the time of its next unit.
  bool parked() const { return parked_; }

  void Begin() {
    const Pacer::Grant grant =
        lane_.pacer.Take(1, playlist_.Peek().steps.size(), Clock::now());
    idle_ = grant.over;
    parked_ = grant.units == 0 && !grant.over;
    if (grant.units == 0) return;
    clock_.Begin(grant.intended);
    unit_ = &playlist_.Next();
    handles_.assign(unit_->steps.size(), 0);
    step_ = 0;
    Send();
  }

  void OnCompletion(bool ok) override {
    const auto now = Clock::now();
    const Step& step = unit_->steps[step_];
    const Operation operation = KindOf(step.operation);
    const Method method = UnaryMethod(operation);
    if (!ok && status_.ok()) {
      status_ = grpc::Status(grpc::StatusCode::UNKNOWN, "no completion");
    }
    lane_.recorder.CountHandled(method, status_.error_code());
    if (status_.ok()) {
      grpc::Slice holder;
      Take(step, lane_.check.CheckUnary(step, Flatten(reply_, &holder)));
    } else if (!TakeStatus(step)) {
      idle_ = true;
      return;
    }
    clock_.Done(method, now);
    Advance();
    if (parked_) parking_.push_back(this);
  }

  void Cancel() {
    if (context_ && !idle_) context_->TryCancel();
  }

 private:
  void Send() {
    const Step& step = unit_->steps[step_];
    const UnaryRequest& request = requests_.at(&step);
    const Method method = UnaryMethod(request.operation());
    context_.emplace();
    reply_.Clear();
    const grpc::ByteBuffer bytes = request.Bytes(
        step.uses_step >= 0 ? handles_[static_cast<size_t>(step.uses_step)]
                            : 0);
    clock_.Sent(Clock::now());
    call_ = lane_.connection.stub().PrepareUnaryCall(
        &*context_, MethodPath(method), bytes, &lane_.queue);
    lane_.recorder.CountStarted(method);
    call_->StartCall();
    call_->Finish(&reply_, &status_, static_cast<CompletionTag*>(this));
  }

  void Take(const Step& step, const Verdict& verdict) {
    lane_.recorder.CountOperations(KindOf(step.operation), verdict.errno_code);
    handles_[step_] = verdict.handle;
    if (!verdict.right()) {
      lane_.recorder.CountWrong();
      lane_.state.Complain(verdict.complaint);
    }
  }

  // A status is an answer where it carries an errno; else the call failed, and
  // with it the slot. Returns whether it was an answer.
  bool TakeStatus(const Step& step) {
    const auto error = vfsclient::Error::FromStatus(status_);
    if (error.kind() != vfsclient::Error::Kind::kErrno) {
      lane_.recorder.CountFailed(status_.error_code());
      lane_.state.Fail(error);
      return false;
    }
    Verdict verdict;
    verdict.errno_code = error.errno_number();
    if (verdict.errno_code != step.expected.errno_code) {
      verdict.complaint = error.Text();
    }
    Take(step, verdict);
    return true;
  }

  // To the next step that can be sent, or the next unit.
  void Advance() {
    while (++step_ < unit_->steps.size()) {
      const int uses = unit_->steps[step_].uses_step;
      if (uses < 0 || handles_[static_cast<size_t>(uses)] != 0) return Send();
    }
    Begin();
  }

  LaneContext lane_;
  std::vector<Slot*>& parking_;
  const std::vector<Unit> units_;
  Playlist playlist_;
  UnitClock clock_;
  std::unordered_map<const Step*, UnaryRequest> requests_;

  bool idle_ = true;
  bool parked_ = false;
  const Unit* unit_ = nullptr;
  size_t step_ = 0;
  std::vector<uint64_t> handles_;  // by step of the unit

  // The call in flight.
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> call_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

class UnaryLane final : public Lane {
 public:
  UnaryLane(const LaneContext& context, std::vector<SlotUnits> slots) {
    for (SlotUnits& units : slots) {
      slots_.push_back(
          std::make_unique<Slot>(context, std::move(units), parked_));
    }
  }

  void Start() override {
    for (const auto& slot : slots_) {
      slot->Begin();
      if (slot->parked()) parked_.push_back(slot.get());
    }
  }
  bool Wake() override {
    if (parked_.empty()) return false;
    Slot* slot = parked_.back();
    slot->Begin();
    if (slot->parked()) return false;
    parked_.pop_back();
    return true;
  }
  bool Idle() const override {
    for (const auto& slot : slots_) {
      if (!slot->idle()) return false;
    }
    return true;
  }
  void Cancel() override {
    for (const auto& slot : slots_) slot->Cancel();
  }

 private:
  std::vector<Slot*> parked_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace

std::unique_ptr<Lane> MakeUnaryLane(const LaneContext& context,
                                    std::vector<SlotUnits> slots) {
  return std::make_unique<UnaryLane>(context, std::move(slots));
}

}  // namespace vfsload
