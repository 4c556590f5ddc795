// vfsctl ls PATH...: a directory's entries, like ls(1) without sorting by
// locale: names in byte order, entry by entry. The server sends pages; all of a
// directory is held here for sorting.
#ifndef CLIENT_CTL_LS_COMMAND_H_
#define CLIENT_CTL_LS_COMMAND_H_

#include <string>
#include <vector>

#include "client/ctl/command.h"

namespace vfsctl {

struct LsOptions {
  std::vector<std::string> paths;  // empty: the root
  bool long_format = false;        // -l
  bool all = false;                // -a: names that start with a dot too
};

// Goes on after an error; the status is that of the first one.
ExitStatus RunLs(const GlobalOptions& global, const LsOptions& options);

}  // namespace vfsctl

#endif  // CLIENT_CTL_LS_COMMAND_H_
