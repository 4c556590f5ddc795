// WireScenario: the same operations on the same files in every form that is
// compared: as rows and as columns of a batch, in the core in this process, and
// as system calls on a tmpfs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/lib/session.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/wire/batch_load.h"

namespace wirebench {

// The files, in each of the three namespaces.
struct WireFiles {
  std::vector<std::string> there;    // relative to the root
  std::vector<std::string> missing;  // the same directories
};

struct WireScenario {
  std::string name;
  // Times faster than the local kernel, batched (0: no goal).
  double vs_kernel = 0;
  // Compare the server's CPU time with the core's own (0: no goal).
  double core_share = 0;
  // The fast path that it shows, as --fast-paths spells it; "": none.
  std::string fast_path;

  BatchMessage rows;
  BatchMessage columns;
  // Once all files; returns how many operations. The program ends at a wrong
  // answer. Safe from several threads where each has its own (make_kernel).
  std::function<uint64_t()> core;
  std::function<std::function<uint64_t()>()> make_kernel;
};

// session: of a vfsd that holds the files. All outlive the scenarios, and one
// of the scenarios outlives what is made of any.
std::vector<WireScenario> MakeScenarios(const WireFiles& files,
                                        const vfsclient::Session& session,
                                        corebench::CoreWorld& core);

}  // namespace wirebench
