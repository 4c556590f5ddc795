// Linux's error numbers: name, number and text.
//
// The numbers are those of asm-generic/errno.h, which is what vfs.v1 carries on
// every platform; so this table, and not the compiling machine's <errno.h>, is
// what replies are read with. Constant data, safe from every thread.
#ifndef CLIENT_LIB_ERRNO_TABLE_H_
#define CLIENT_LIB_ERRNO_TABLE_H_

#include <string>
#include <string_view>

namespace vfsclient {

// The numbers that code of the client names; all others are in the table only.
inline constexpr int kENOENT = 2;
inline constexpr int kEACCES = 13;
inline constexpr int kEEXIST = 17;
inline constexpr int kECANCELED = 125;

// One past the largest number in the table.
inline constexpr int kErrnoLimit = 134;

struct ErrnoEntry {
  int number;
  std::string_view name;  // "ENOENT"
  std::string_view text;  // "No such file or directory"
};

// nullptr where the number or name is none of Linux's.
const ErrnoEntry* FindErrno(int number);
const ErrnoEntry* FindErrno(std::string_view name);

// "ok" for 0, "ENOENT" for 2, "E4095" for a number that has no name.
std::string ErrnoName(int number);

}  // namespace vfsclient

#endif  // CLIENT_LIB_ERRNO_TABLE_H_
