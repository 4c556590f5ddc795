#include "client/load/operation.h"

#include <fmt/format.h>

namespace vfsload {
namespace {

struct Names {
  std::string_view operation;
  std::string_view method;
};
constexpr std::array<Names, kMethods> kNames = {{
    {"open", "Open"},
    {"close", "Close"},
    {"stat", "Stat"},
    {"access", "Access"},
    {"read", "Read"},
    {"readdir", "ReadDirectory"},
    {"mkdir", "MakeDirectory"},
    {"unlink", "Unlink"},
    {"rename", "Rename"},
    {"batch", "Batch"},
}};

}  // namespace

Operation KindOf(const vfs::v1::BatchOperation& operation) {
  // Field numbers of the oneof start at 1 and follow the enum.
  return static_cast<Operation>(operation.kind_case() - 1);
}

std::string_view OperationName(Operation operation) {
  return kNames[Index(operation)].operation;
}

std::string_view MethodName(Method method) { return kNames[method].method; }

const std::string& MethodPath(Method method) {
  static const std::array<std::string, kMethods> paths = [] {
    std::array<std::string, kMethods> made;
    for (size_t i = 0; i < kMethods; ++i) {
      made[i] = fmt::format("/vfs.v1.VfsService/{}", kNames[i].method);
    }
    return made;
  }();
  return paths[method];
}

}  // namespace vfsload
