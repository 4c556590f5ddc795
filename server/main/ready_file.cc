#include "server/main/ready_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "server/base/build_info.h"

namespace vfsd {

std::expected<std::unique_ptr<ReadyFile>, std::string> ReadyFile::Write(
    const std::string& path, const std::vector<std::string>& listen,
    const std::string& metrics) {
  nlohmann::ordered_json content;
  content["pid"] = getpid();
  content["listen"] = listen;
  content["metrics"] = metrics.empty() ? nlohmann::ordered_json()
                                       : nlohmann::ordered_json(metrics);
  content["version"] = build_info::Version();

  const std::string temporary = path + ".new." + std::to_string(getpid());
  const auto fail = [&] {
    return std::unexpected("cannot write the ready file " + path + ": " +
                           std::system_category().message(errno));
  };
  errno = 0;
  std::ofstream file(temporary, std::ios::trunc);
  file << content.dump() << "\n";
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto error = fail();
    unlink(temporary.c_str());
    return error;
  }
  return std::unique_ptr<ReadyFile>(new ReadyFile(path));
}

ReadyFile::~ReadyFile() { unlink(path_.c_str()); }

}  // namespace vfsd
