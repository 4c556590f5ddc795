// ReadyFile: tells whoever started the server that it serves, and where:
// {"pid":1,"listen":["127.0.0.1:9150"],"metrics":"127.0.0.1:9151","version":"0.1.0"}
// ("metrics" is null when they are off). It appears whole, or not at all, and
// goes with the object.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

namespace vfsd {

class ReadyFile {
 public:
  // metrics: empty: off. The error is a sentence.
  static std::expected<std::unique_ptr<ReadyFile>, std::string> Write(
      const std::string& path, const std::vector<std::string>& listen,
      const std::string& metrics);
  ~ReadyFile();

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace vfsd
