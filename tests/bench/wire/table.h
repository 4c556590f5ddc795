// Table: contenders that take turns, a slice each, in an order that changes
// from round to round, and what came of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/core/series.h"
#include "tests/bench/wire/process.h"
#include "tests/bench/wire/slice.h"

namespace wirebench {

// Whoever takes turns: runs a slice, and keeps what came of each.
struct Contender {
  std::string name;
  std::function<Slice()> run;
  // Around a slice, not counted.
  std::function<void()> before = {};
  std::function<void()> after = {};
  corebench::Series cost = {};
  corebench::Series server = {};
  corebench::Series client = {};
  corebench::Series rate = {};
};

class Table {
 public:
  explicit Table(int rounds) : rounds_(rounds) {}

  Contender& Add(std::string name, std::function<Slice()> run) {
    contenders_.push_back(std::make_unique<Contender>(
        Contender{.name = std::move(name), .run = std::move(run)}));
    return *contenders_.back();
  }

  // A slice of each in turn, in an order that changes; then prints a line of
  // each.
  void Run();

 private:
  const int rounds_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

// Counts CPU time around something that returns how many operations it did.
// server: null if all happens in this process.
Slice Measure(const Process* server, const std::function<uint64_t()>& work);

}  // namespace wirebench
