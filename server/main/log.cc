#include "server/main/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "server/rpc/grpc_log.h"

namespace vfsd {
namespace {

// A message may hold anything, names of files included: JSON escapes it, and
// what is not UTF-8 is replaced.
class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const spdlog::string_view_t level =
        spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json object;
    object["time"] = std::string_view(time.data(), time.size());
    object["level"] = std::string_view(level.data(), level.size());
    object["message"] =
        std::string_view(message.payload.data(), message.payload.size());
    const std::string text = object.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    line.append(text.data(), text.data() + text.size());
    line.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%e%z",
                                  spdlog::pattern_time_type::local, ""};
};

}  // namespace

void SetUpLog(const std::string& level, const std::string& format) {
  const auto logger = spdlog::stderr_logger_mt("vfsd");
  if (format == "json") {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  }
  spdlog::set_default_logger(logger);
  spdlog::set_level(spdlog::level::from_str(level));
  rpc::RouteGrpcLog();
}

}  // namespace vfsd
