// Linux error numbers as a type of their own, so that neither errno's macros
// nor plain integers travel through the core. Values are asm-generic's
// (x86-64).
#pragma once

#include <cstdint>
#include <string_view>

namespace vfsd {

// X(name, value, text): every error that the core can answer. The text is
// strerror(3)'s.
#define VFSD_ERRNO_TABLE(X)                                 \
  X(EPERM, 1, "Operation not permitted")                    \
  X(ENOENT, 2, "No such file or directory")                 \
  X(EINTR, 4, "Interrupted system call")                    \
  X(EIO, 5, "Input/output error")                           \
  X(ENXIO, 6, "No such device or address")                  \
  X(E2BIG, 7, "Argument list too long")                     \
  X(EBADF, 9, "Bad file descriptor")                        \
  X(EAGAIN, 11, "Resource temporarily unavailable")         \
  X(ENOMEM, 12, "Cannot allocate memory")                   \
  X(EACCES, 13, "Permission denied")                        \
  X(EFAULT, 14, "Bad address")                              \
  X(ENOTBLK, 15, "Block device required")                   \
  X(EBUSY, 16, "Device or resource busy")                   \
  X(EEXIST, 17, "File exists")                              \
  X(EXDEV, 18, "Invalid cross-device link")                 \
  X(ENODEV, 19, "No such device")                           \
  X(ENOTDIR, 20, "Not a directory")                         \
  X(EISDIR, 21, "Is a directory")                           \
  X(EINVAL, 22, "Invalid argument")                         \
  X(ENFILE, 23, "Too many open files in system")            \
  X(EMFILE, 24, "Too many open files")                      \
  X(ENOTTY, 25, "Inappropriate ioctl for device")           \
  X(ETXTBSY, 26, "Text file busy")                          \
  X(EFBIG, 27, "File too large")                            \
  X(ENOSPC, 28, "No space left on device")                  \
  X(ESPIPE, 29, "Illegal seek")                             \
  X(EROFS, 30, "Read-only file system")                     \
  X(EMLINK, 31, "Too many links")                           \
  X(ERANGE, 34, "Numerical result out of range")            \
  X(EDEADLK, 35, "Resource deadlock avoided")               \
  X(ENAMETOOLONG, 36, "File name too long")                 \
  X(ENOSYS, 38, "Function not implemented")                 \
  X(ENOTEMPTY, 39, "Directory not empty")                   \
  X(ELOOP, 40, "Too many levels of symbolic links")         \
  X(EOVERFLOW, 75, "Value too large for defined data type") \
  X(EOPNOTSUPP, 95, "Operation not supported")              \
  X(ETIMEDOUT, 110, "Connection timed out")                 \
  X(ESTALE, 116, "Stale file handle")                       \
  X(EDQUOT, 122, "Disk quota exceeded")                     \
  X(ECANCELED, 125, "Operation canceled")

enum class Errno : int32_t {
  kOk = 0,
#define VFSD_ERRNO_ENUMERATOR(name, value, text) k##name = (value),
  VFSD_ERRNO_TABLE(VFSD_ERRNO_ENUMERATOR)
#undef VFSD_ERRNO_ENUMERATOR
};

// More than the largest value of Errno (all that Linux has, up to EHWPOISON):
// the size of tables indexed by it.
inline constexpr int32_t kErrnoLimit = 134;

// "ENOENT"; "OK" for kOk; "EUNKNOWN" for a value that is not in the table.
std::string_view ErrnoName(Errno error);

// "No such file or directory"; "Success" for kOk.
std::string_view ErrnoText(Errno error);

}  // namespace vfsd
