// The peers suite: vfsd against what one would pick instead, the same questions
// about the same files, each contender a slice in turn.
#pragma once

#include <chrono>
#include <string>

namespace wirebench {

struct PeersPlan {
  int rounds = 30;
  std::chrono::milliseconds slice{150};
};

// bin: the folder with vfsd.
void RunPeersSuite(const PeersPlan& plan, const std::string& bin);

}  // namespace wirebench
