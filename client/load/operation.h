// The kinds of operations that a load consists of, and the gRPC methods that
// carry them. Constant data.
#ifndef CLIENT_LOAD_OPERATION_H_
#define CLIENT_LOAD_OPERATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "vfs/v1/vfs.pb.h"

namespace vfsload {

// In the order of vfs.v1.BatchOperation's kinds.
enum class Operation : uint8_t {
  kOpen,
  kClose,
  kStat,
  kAccess,
  kRead,
  kReadDirectory,
  kMakeDirectory,
  kUnlink,
  kRename,
};
inline constexpr size_t kOperations = 9;

// A gRPC method of the load: one of the unary calls, numbered as Operation is,
// or the batch stream.
using Method = size_t;
inline constexpr Method kBatchMethod = kOperations;
inline constexpr size_t kMethods = kOperations + 1;

constexpr size_t Index(Operation operation) {
  return static_cast<size_t>(operation);
}
constexpr Method UnaryMethod(Operation operation) { return Index(operation); }

// Which kind a batched operation is. Its kind must be set.
Operation KindOf(const vfs::v1::BatchOperation& operation);

// "open", "readdir", ...: the label of metrics, and what tables show.
std::string_view OperationName(Operation operation);
// "Open", "ReadDirectory", ..., "Batch".
std::string_view MethodName(Method method);
// "/vfs.v1.VfsService/Open".
const std::string& MethodPath(Method method);

}  // namespace vfsload

#endif  // CLIENT_LOAD_OPERATION_H_
