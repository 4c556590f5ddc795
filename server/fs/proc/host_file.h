// The content of a file of the host's /proc.
#pragma once

#include <optional>
#include <string>

namespace vfsd::proc {

// nullopt if it cannot be read (a container that hides it), or there is nothing
// in it.
std::optional<std::string> ReadHostFile(const std::string& path);

}  // namespace vfsd::proc
