// Columns of batches (vfs.proto, "Columns"): operations put into groups, and
// the results of groups as rows for those who want them one by one. Whoever is
// after speed reads the arrays of a ColumnGroupResult themselves.
//
// Free functions; they keep nothing.
#ifndef CLIENT_LIB_COLUMNS_H_
#define CLIENT_LIB_COLUMNS_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "vfs/v1/vfs.pb.h"

namespace vfsclient {

void AppendPath(std::string_view path, vfs::v1::PathColumn* paths);

// Puts an operation into a group, which is empty or has operations of its kind.
// opener: the group that opens the file that the operation uses. False: it has
// no place there (another kind, other flags, or one that no group can hold).
bool AppendOperation(const vfs::v1::BatchOperation& operation,
                     std::optional<uint32_t> opener,
                     vfs::v1::ColumnGroup* group);

// Appends a row for each operation of a group. wanted_mask: what the group's
// StatColumns asked for, if it has any.
void AppendRows(const vfs::v1::ColumnGroupResult& group, uint32_t wanted_mask,
                google::protobuf::RepeatedPtrField<vfs::v1::BatchResult>* rows);

}  // namespace vfsclient

#endif  // CLIENT_LIB_COLUMNS_H_
