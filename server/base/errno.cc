#include "server/base/errno.h"

namespace vfsd {

std::string_view ErrnoName(Errno error) {
  switch (error) {
    case Errno::kOk:
      return "OK";
#define VFSD_ERRNO_NAME(name, value, text) \
  case Errno::k##name:                     \
    return #name;
      VFSD_ERRNO_TABLE(VFSD_ERRNO_NAME)
#undef VFSD_ERRNO_NAME
  }
  return "EUNKNOWN";
}

std::string_view ErrnoText(Errno error) {
  switch (error) {
    case Errno::kOk:
      return "Success";
#define VFSD_ERRNO_TEXT(name, value, text) \
  case Errno::k##name:                     \
    return text;
      VFSD_ERRNO_TABLE(VFSD_ERRNO_TEXT)
#undef VFSD_ERRNO_TEXT
  }
  return "Unknown error";
}

}  // namespace vfsd
