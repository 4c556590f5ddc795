// The order in which a slot goes through its units: drawn by weight once, then
// repeated, so that choosing costs nothing under load and two runs with the
// same seed do the same. Owned by one slot.
#ifndef CLIENT_LOAD_PLAYLIST_H_
#define CLIENT_LOAD_PLAYLIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/load/unit.h"

namespace vfsload {

class Playlist {
 public:
  // `units` must not be empty and must outlive the playlist. One unit is
  // repeated; units of equal weight take turns in a random order; others are
  // drawn `length` times by their weights.
  Playlist(const std::vector<Unit>& units, size_t length, uint64_t seed);

  // The one that Next will return.
  const Unit& Peek() const { return *order_[next_]; }
  const Unit& Next() {
    const Unit& unit = *order_[next_];
    if (++next_ == order_.size()) next_ = 0;
    return unit;
  }

 private:
  std::vector<const Unit*> order_;
  size_t next_ = 0;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_PLAYLIST_H_
