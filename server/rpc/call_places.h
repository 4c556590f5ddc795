// CallPlaces: the places for calls of one method on one queue: always some that
// wait for the next one, however many are under way. Places that are free are
// used again, the last one first, whose memory is still near.
//
// Few wait: gRPC, as Debian builds it, looks through all tags of a queue each
// time that one of them is done, so that 64 waiting calls of each method cost
// every call of any method more than a microsecond.
//
// Owned by a CallQueue; only the queue's thread touches it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace vfsd::rpc {

// Told by a place when its call begins (another place must wait for the next
// one), and when the place is free again.
template <typename Call>
class CallPlacesOwner {
 public:
  virtual void Began(Call& call) = 0;
  virtual void Ended(Call& call) = 0;

 protected:
  ~CallPlacesOwner() = default;
};

template <typename Call>
class CallPlaces final : public CallPlacesOwner<Call> {
 public:
  using Make =
      std::function<std::unique_ptr<Call>(CallPlacesOwner<Call>& owner)>;

  // `waiting` places wait from now on.
  CallPlaces(int waiting, Make make) : make_(std::move(make)) {
    for (int i = 0; i < waiting; ++i) Add();
  }
  CallPlaces(const CallPlaces&) = delete;
  CallPlaces& operator=(const CallPlaces&) = delete;

  template <typename Function>
  void ForEach(Function&& function) {
    for (const std::unique_ptr<Call>& call : calls_) function(*call);
  }

 private:
  void Began(Call&) override {
    if (spare_.empty()) return Add();
    Call* spare = spare_.back();
    spare_.pop_back();
    spare->Post();
  }
  void Ended(Call& call) override { spare_.push_back(&call); }

  void Add() {
    calls_.push_back(make_(*this));
    calls_.back()->Post();
  }

  const Make make_;
  std::vector<std::unique_ptr<Call>> calls_;
  // Of calls_: those that wait for nothing.
  std::vector<Call*> spare_;
};

}  // namespace vfsd::rpc
