// How a file's attributes look on a terminal and in JSON: as in stat(1) and
// ls(1). Free functions over the reply, no state.
#ifndef CLIENT_CTL_STAT_FORMAT_H_
#define CLIENT_CTL_STAT_FORMAT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "vfs/v1/vfs.pb.h"

namespace vfsctl {

// "drwxr-xr-x".
std::string ModeText(uint32_t mode);
// "regular file", "directory", ... as stat(1) says it.
std::string_view TypeText(uint32_t mode);
// '-', 'd', 'l', ... for a getdents64 d_type.
char TypeLetter(uint32_t d_type);
// "2024-03-01 12:00:00.000000000 +0000", in UTC.
std::string TimeText(int64_t seconds, uint32_t nanoseconds);

// The lines of stat(1).
std::string StatText(std::string_view path, const vfs::v1::StatResponse& stat);
nlohmann::ordered_json StatJson(std::string_view path,
                                const vfs::v1::StatResponse& stat);

}  // namespace vfsctl

#endif  // CLIENT_CTL_STAT_FORMAT_H_
