// The dentry table against std::map: random operations, growth, tombstones,
// replacement, colliding hashes. Readers beside writers are in tests/stress.

#include "server/vfs/dentry_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/sync/rcu.h"
#include "server/vfs/inode.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/live_objects.h"

namespace vfsd::vfs {
namespace {

// A table whose directories are plain inodes, and a map that must agree.
class DentryTableTest : public testing::Test {
 protected:
  static constexpr int kDirectories = 4;

  DentryTableTest()
      : dentries_before_(live_objects::Count(ObjectKind::kDentry)) {
    for (int i = 0; i < kDirectories + 8; ++i) {
      Inode::Init init;
      init.mode =
          (i < kDirectories ? linux_abi::kSIfdir : linux_abi::kSIfreg) | 0755;
      init.ino = static_cast<uint64_t>(i) + 1;
      inodes_.push_back(std::make_unique<Inode>(std::move(init)));
    }
  }
  ~DentryTableTest() override {
    size_t drained = 0;
    table_.Drain([&drained](Dentry* dentry) {
      ++drained;
      Dentry::Delete(dentry);
    });
    EXPECT_EQ(drained, map_.size());
    EXPECT_EQ(table_.size(), 0U);
    sync::RcuBarrier();
    EXPECT_EQ(live_objects::Count(ObjectKind::kDentry), dentries_before_);
  }

  Inode& Parent(size_t i) { return *inodes_[i]; }
  Inode& File(size_t i) { return *inodes_[kDirectories + i]; }

  using Key = std::pair<Inode*, std::string>;

  void Insert(Inode& parent, const std::string& name, Inode& inode,
              uint32_t hash) {
    Dentry* const dentry =
        Dentry::Create(parent, name, hash, inode, 1).release();
    table_.Insert(dentry);
    ASSERT_TRUE(map_.emplace(Key(&parent, name), dentry).second);
  }
  void Insert(Inode& parent, const std::string& name, Inode& inode) {
    Insert(parent, name, inode, DentryTable::Hash(&parent, name));
  }
  void Remove(Inode& parent, const std::string& name) {
    const auto it = map_.find(Key(&parent, name));
    ASSERT_NE(it, map_.end());
    table_.Remove(it->second);
    map_.erase(it);
  }
  void Replace(Inode& parent, const std::string& name, Inode& inode) {
    Dentry*& place = map_.at(Key(&parent, name));
    Dentry* const dentry =
        Dentry::Create(parent, name, place->hash(), inode, 1).release();
    table_.Replace(place, dentry);
    place = dentry;
  }
  Dentry* Find(const Inode& parent, const std::string& name, uint32_t hash) {
    const sync::RcuReadSection section;
    return table_.Find(&parent, hash, name);
  }
  Dentry* Find(const Inode& parent, const std::string& name) {
    return Find(parent, name, DentryTable::Hash(&parent, name));
  }
  void ExpectAgreement() {
    EXPECT_EQ(table_.size(), map_.size());
    for (const auto& [key, dentry] : map_)
      ASSERT_EQ(Find(*key.first, key.second, dentry->hash()), dentry)
          << key.second;
  }

  const int64_t dentries_before_;
  std::vector<std::unique_ptr<Inode>> inodes_;
  DentryTable table_;
  std::map<Key, Dentry*> map_;
};

TEST_F(DentryTableTest, AnEmptyTableHasNothing) {
  EXPECT_EQ(Find(Parent(0), "x"), nullptr);
  EXPECT_EQ(Find(Parent(0), ""), nullptr);
  EXPECT_EQ(Find(Parent(0), std::string(4000, 'x')), nullptr);
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(DentryTableTest, TheHashIsAFunctionOfDirectoryAndName) {
  for (const size_t length : {1U, 7U, 8U, 9U, 16U, 17U, 255U}) {
    const std::string name(length, 'n');
    const std::string copy = name;
    EXPECT_EQ(DentryTable::Hash(&Parent(0), name),
              DentryTable::Hash(&Parent(0), copy));
    // Equal 32-bit hashes for the next two are possible once in four thousand
    // million runs each.
    EXPECT_NE(DentryTable::Hash(&Parent(0), name),
              DentryTable::Hash(&Parent(1), name));
    EXPECT_NE(DentryTable::Hash(&Parent(0), name),
              DentryTable::Hash(&Parent(0), name + "n"));
  }
}

// Names whose last bytes differ as their sizes do: with the size as it is in
// the hash they collide whatever the seed is.
TEST_F(DentryTableTest, NamesDoNotCollideWithoutTheSeed) {
  std::vector<std::string> names = {"bccccccc", "bcccccccc"};
  for (size_t k = 8; k <= 16; ++k) {
    names.push_back("prefix__" +
                    std::string(1, static_cast<char>('y' ^ (16 + k))) +
                    "yyyyyyy" + std::string(k, 'a'));
  }
  // An address as any other, the same in each run.
  const void* const kParent = reinterpret_cast<const void*>(0x7f12'3456'7890);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const NameHashSeed seed{random() | 1, random() | 1};
    std::set<uint32_t> hashes;
    for (const std::string& name : names)
      hashes.insert(HashName(seed, kParent, name));
    EXPECT_EQ(hashes.size(), names.size()) << i;
  }
}

TEST_F(DentryTableTest, TheSameNameInDirectoriesIsApart) {
  for (size_t i = 0; i < kDirectories; ++i) Insert(Parent(i), "name", File(i));
  for (size_t i = 0; i < kDirectories; ++i)
    EXPECT_EQ(&Find(Parent(i), "name")->inode(), &File(i));
  Remove(Parent(1), "name");
  EXPECT_EQ(Find(Parent(1), "name"), nullptr);
  EXPECT_EQ(&Find(Parent(2), "name")->inode(), &File(2));
}

TEST_F(DentryTableTest, NamesOfAllLengthsAndBytes) {
  for (size_t length = 1; length <= 255; ++length)
    Insert(Parent(0), std::string(length, static_cast<char>(length)), File(0));
  Insert(Parent(0), std::string("a\xff\x01 b"), File(1));
  ExpectAgreement();
  EXPECT_EQ(Find(Parent(0), std::string(256, 'x')), nullptr);
}

TEST_F(DentryTableTest, ReplaceChangesTheInodeAndNothingElse) {
  Insert(Parent(0), "a", File(0));
  Insert(Parent(0), "b", File(1));
  Replace(Parent(0), "a", File(2));
  EXPECT_EQ(table_.size(), 2U);
  EXPECT_EQ(&Find(Parent(0), "a")->inode(), &File(2));
  EXPECT_EQ(&Find(Parent(0), "b")->inode(), &File(1));
  for (int i = 0; i < 1000; ++i)
    Replace(Parent(0), "a", File(static_cast<size_t>(i) % 8));
  ExpectAgreement();
}

TEST_F(DentryTableTest, GrowsAndForgets) {
  const size_t empty_bytes = table_.memory_bytes();
  constexpr int kNames = 50'000;
  for (int i = 0; i < kNames; ++i)
    Insert(Parent(0), "n" + std::to_string(i), File(0));
  ExpectAgreement();
  // 8 bytes a slot, at least a quarter of them in use.
  EXPECT_LE(table_.memory_bytes(),
            empty_bytes + kNames * 8 * 4 + (1U << 10) * 8 * 16);
  for (int i = 0; i < kNames; ++i) Remove(Parent(0), "n" + std::to_string(i));
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_EQ(Find(Parent(0), "n0"), nullptr);
}

// All of a large tree: neither its memory stays nor tombstones that every miss
// would probe through.
TEST_F(DentryTableTest, GivesMemoryBackWhenNamesAreRemoved) {
  const size_t empty_bytes = table_.memory_bytes();
  constexpr int kNames = 200'000;
  for (int i = 0; i < kNames; ++i)
    Insert(Parent(0), "n" + std::to_string(i), File(0));
  const size_t full_bytes = table_.memory_bytes() - empty_bytes;
  EXPECT_GE(full_bytes, size_t{kNames} * 8);
  for (int i = 100; i < kNames; ++i) Remove(Parent(0), "n" + std::to_string(i));
  ExpectAgreement();
  EXPECT_LE(table_.memory_bytes() - empty_bytes, full_bytes / 4);
  for (int i = 0; i < 100; ++i) Remove(Parent(0), "n" + std::to_string(i));
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(DentryTableTest, TombstonesDoNotPileUp) {
  // One live name in each of many rounds: the arrays must stay small.
  constexpr int kRounds = 300'000;
  size_t largest = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string name = "t" + std::to_string(i);
    Insert(Parent(0), name, File(0));
    Remove(Parent(0), name);
    if (i % 10'000 == 0) largest = std::max(largest, table_.memory_bytes());
  }
  EXPECT_LE(largest, (1U << 10) * (128 + 64 + 8 * 8));
}

TEST_F(DentryTableTest, CollidingHashesAreToldApartByName) {
  // All in one shard, all with one tag, all from one slot on.
  constexpr uint32_t kHash = 0xdeadbeef;
  constexpr int kNames = 300;
  for (int i = 0; i < kNames; ++i)
    Insert(Parent(static_cast<size_t>(i) % kDirectories),
           "c" + std::to_string(i), File(0), kHash);
  ExpectAgreement();
  EXPECT_EQ(Find(Parent(0), "c1", kHash), nullptr);  // it is in directory 1
  for (int i = 0; i < kNames; i += 2)
    Remove(Parent(static_cast<size_t>(i) % kDirectories),
           "c" + std::to_string(i));
  ExpectAgreement();
  EXPECT_EQ(Find(Parent(0), "c0", kHash), nullptr);
  for (int i = 0; i < kNames; i += 2)
    Insert(Parent(static_cast<size_t>(i) % kDirectories),
           "c" + std::to_string(i), File(1), kHash);
  ExpectAgreement();
}

TEST_F(DentryTableTest, ATagOfZeroIsNoTombstone) {
  // Hashes whose lower 16 bits are 0: the slot's value is the bare pointer.
  for (uint32_t i = 0; i < 64; ++i)
    Insert(Parent(0), "z" + std::to_string(i), File(0),
           0x12340000 + (i % 4 << 16));
  for (uint32_t i = 0; i < 64; i += 3)
    Remove(Parent(0), "z" + std::to_string(i));
  ExpectAgreement();
  EXPECT_EQ(Find(Parent(0), "z0", 0x12340000), nullptr);
}

TEST_F(DentryTableTest, AgreesWithAMapOverRandomOperations) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  // Phases of growing and of shrinking; few names, so that each comes and goes
  // often, and many with a hash of few values.
  for (int step = 0; step < 200'000; ++step) {
    const bool growing = step / 20'000 % 2 == 0;
    Inode& parent = Parent(random() % kDirectories);
    const uint32_t pick = random() % 4'000;
    const std::string name =
        (pick % 5 == 0 ? std::string(pick % 250, 'L') : "n") +
        std::to_string(pick);
    const uint32_t hash = pick % 3 == 0 ? pick % 7 * 0x01000001
                                        : DentryTable::Hash(&parent, name);
    const auto known = map_.find(Key(&parent, name));
    Dentry* const expected = known == map_.end() ? nullptr : known->second;
    ASSERT_EQ(Find(parent, name, hash), expected) << "step " << step;
    switch (random() % 4) {
      case 0:
        if (expected != nullptr) Replace(parent, name, File(random() % 8));
        break;
      case 1:
        if (expected != nullptr && !growing) Remove(parent, name);
        if (expected == nullptr && growing)
          Insert(parent, name, File(random() % 8), hash);
        break;
      case 2:
        if (expected == nullptr)
          Insert(parent, name, File(random() % 8), hash);
        else if (!growing || random() % 4 == 0)
          Remove(parent, name);
        break;
      default:
        break;  // only looked
    }
    if (step % 50'000 == 0) ExpectAgreement();
  }
  ExpectAgreement();
}

}  // namespace
}  // namespace vfsd::vfs
