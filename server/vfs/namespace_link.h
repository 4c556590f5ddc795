// The primitives that change names: each publishes, replaces or removes
// dentries and keeps link counts, directory sizes and times as tmpfs keeps
// them. Everything that changes a namespace (operations, importers, proc) goes
// through here; permission and precedence are the callers'.
//
// REQUIRES, unless said otherwise: the directory's Directory::mu, exclusively.
#pragma once

#include <string_view>

#include "server/base/errno.h"
#include "server/base/timestamp.h"
#include "server/vfs/dentry.h"
#include "server/vfs/file_system.h"
#include "server/vfs/inode.h"

namespace vfsd::vfs {

// The dentry of `name`, or null.
Dentry* FindName(const FileSystem& file_system, const Inode& directory,
                 std::string_view name);

// Gives a new inode its first name. The reference becomes the namespace's. A
// directory's parent is set. The name is free and 1 to 255 bytes long.
void AddName(FileSystem& file_system, Inode& directory, std::string_view name,
             PinnedInode child, Timestamp now);

// Gives an inode that has names another one, and one that was made without
// (O_TMPFILE) its first. ENOENT if it has lost its last name, or may have none.
Errno TryAddHardLink(FileSystem& file_system, Inode& directory,
                     std::string_view name, Inode& existing, Timestamp now);

// Removes a name of something that is no directory. The inode ends with its
// last name and last user.
void RemoveName(FileSystem& file_system, Inode& directory, Dentry& dentry,
                Timestamp now);

// Removes an empty directory, whose own mutex the caller holds too.
void RemoveDirectoryName(FileSystem& file_system, Inode& directory,
                         Dentry& dentry, Timestamp now);

// Moves the name of `from` in `old_directory` to `new_name` in `new_directory`;
// `replaced` is the dentry that has that name now, or null, and its inode loses
// it. Readers see both changes at once (walk_lock of both directories).
// REQUIRES: both directories' mutexes, and where the replaced inode is a
// directory, which is empty, its own too; the rename mutex where the moved
// inode is a directory and the directories differ.
void MoveName(FileSystem& file_system, Inode& old_directory, Dentry& from,
              Inode& new_directory, std::string_view new_name, Dentry* replaced,
              Timestamp now);

// Exchanges the inodes of two names. REQUIRES: as MoveName.
void ExchangeNames(FileSystem& file_system, Inode& directory_a, Dentry& a,
                   Inode& directory_b, Dentry& b, Timestamp now);

// For builders of trees (importers, proc): takes the directory's mutex itself.
// EEXIST, ENOENT (directory removed), ENAMETOOLONG, EINVAL (".", "..", "/" or
// NUL in the name, or an empty one). The entry's mtime/ctime stay as they are;
// the directory's change.
Errno CreateChild(FileSystem& file_system, Inode& directory,
                  std::string_view name, PinnedInode child);
Errno LinkChild(FileSystem& file_system, Inode& directory,
                std::string_view name, Inode& existing);
// Removes a name, and if it is a directory all that is below it; what is
// mounted there is detached, which waits for grace periods. ENOENT.
Errno RemoveTree(FileSystem& file_system, Inode& directory,
                 std::string_view name);

}  // namespace vfsd::vfs
