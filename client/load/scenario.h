// The named loads, and mixes of them.
//
// A scenario is a row of a table: its name, what one unit of it does, and the
// function that makes its units for one slot of the load (a call in flight, or
// a batch stream). Units are made at preparation, over the slot's own session,
// and checked there once, so that the load itself knows the right answers.
// Constant data and free functions; building uses blocking calls.
#ifndef CLIENT_LOAD_SCENARIO_H_
#define CLIENT_LOAD_SCENARIO_H_

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/load/connection.h"
#include "client/load/file_catalog.h"
#include "client/load/private_directory.h"
#include "client/load/unit.h"

namespace vfsload {

// What a scenario may use to make the units of one slot.
struct BuildContext {
  Connection& connection;
  const FileCatalog& catalog;
  // Null unless a scenario of the mix needs one.
  PrivateDirectory* directory;
  // Numbers of this slot and its worker in the phase, from 0.
  size_t slot;
  size_t worker;
  // What procread reads.
  const std::string& proc_file;
};

// The error says what could not be prepared, for people.
using Units = std::expected<std::vector<Unit>, std::string>;

struct Scenario {
  std::string_view name;
  // One line for people: what it measures.
  std::string_view summary;
  // What a unit is: "open, close".
  std::string_view unit;
  Units (*build)(const BuildContext&);
  bool needs_directory = false;
  // Works without any regular file in the tree.
  bool needs_files = true;
};

std::span<const Scenario> Scenarios();
// nullptr where there is none of that name.
const Scenario* FindScenario(std::string_view name);

// Scenarios with weights: how many units of each, relative to each other.
struct MixPart {
  const Scenario* scenario;
  double weight;
};

class Mix {
 public:
  // "openneg" or "openro3=3,openneg=2". The error is for people.
  static std::expected<Mix, std::string> Parse(std::string_view text);

  // As it was typed.
  const std::string& text() const { return text_; }
  const std::vector<MixPart>& parts() const { return parts_; }
  bool NeedsDirectory() const;
  bool NeedsFiles() const;

  // The units of all parts, weighted.
  Units Build(const BuildContext& context) const;

 private:
  std::string text_;
  std::vector<MixPart> parts_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_SCENARIO_H_
