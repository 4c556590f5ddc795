// Encoded vfs.v1.ColumnGroup → ColumnGroup. The only place that knows the
// fields of groups.
#pragma once

#include <string_view>
#include <vector>

#include "server/rpc/column_request.h"

namespace vfsd::rpc {

// Merged into `group`, which is a fresh one or what came of it before. False:
// not parsable.
bool DecodeColumnGroup(std::string_view message, ColumnGroup& group);

// Once all groups are decoded: sets their counts. False: the paths' ends are
// out of order, or files are to be those of a group that opens none.
bool SettleColumnGroups(std::vector<ColumnGroup>& groups);

}  // namespace vfsd::rpc
