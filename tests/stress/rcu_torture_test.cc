// Torture of reclaiming: what was retired ages through stages, one a grace
// period, before it goes; a reader that sees it age holds it too late. (The
// idea is that of the kernel's rcutorture.)

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/synthetic_file.h"
#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd {
namespace {

using stress::Load;
using stress::Random;

constexpr int kStages = 10;
std::atomic<int64_t> elements_alive{0};

struct Element {
  Element() { ++elements_alive; }
  ~Element() { --elements_alive; }
  std::atomic<int> stage{0};

  static void Age(void* retired) {
    auto* const element = static_cast<Element*>(retired);
    if (element->stage.fetch_add(1) + 1 < kStages) {
      sync::RcuRetire(element, &Element::Age);
    } else {
      delete element;
    }
  }
};

void Spin(uint64_t times) {
  for (uint64_t i = 0; i < times; ++i) sync::SpinPause();
}

TEST(RcuTortureTest, NoReaderSeesWhatItHoldsAge) {
  std::array<std::atomic<Element*>, 8> places;
  for (auto& place : places) place.store(new Element);
  std::atomic<uint64_t> read{0};
  std::atomic<uint64_t> replaced{0};
  {
    Load load;
    for (int t = 0; t < 2; ++t) {
      load.Add([&](Random& random) {
        if (elements_alive.load() > 100'000) {
          std::this_thread::yield();  // bounded
          return;
        }
        Element* const old =
            places[random() % places.size()].exchange(new Element);
        ++replaced;
        sync::RcuRetire(old, &Element::Age);
        if (random() % 1024 == 0) sync::RcuSynchronize();
      });
    }
    for (int t = 0; t < 2; ++t) {
      load.Add([&](Random& random) {
        const sync::RcuReadSection section;
        const Element* const element =
            places[random() % places.size()].load(std::memory_order_acquire);
        EXPECT_EQ(element->stage.load(), 0);
        if (random() % 4 == 0) {
          const sync::RcuReadSection nested;
          Spin(random() % 200);
        }
        if (random() % 512 == 0) std::this_thread::yield();
        Spin(random() % 100);
        EXPECT_EQ(element->stage.load(), 0);
        ++read;
      });
    }
    // Threads that come, read, retire and go.
    load.Add([&](Random& random) {
      std::thread([&] {
        {
          const sync::RcuReadSection section;
          const Element* const element =
              places[random() % places.size()].load(std::memory_order_acquire);
          Spin(200);
          EXPECT_EQ(element->stage.load(), 0);
        }
        sync::RcuRetire(new Element, &Element::Age);
      }).join();
    });
    load.Wait();
    stress::Report(load);
  }
  for (auto& place : places)
    sync::RcuRetire(place.exchange(nullptr), &Element::Age);
  sync::RcuBarrier();
  EXPECT_EQ(elements_alive.load(), 0);
  std::cout << replaced.load() << " replaced, " << read.load() << " read"
            << std::endl;
}

}  // namespace

namespace vfs {
namespace {

using namespace linux_abi;  // NOLINT

// Says whether an inode is still in use; outlives it.
struct Token {
  std::atomic<int> stage{0};
};

// A synthetic file whose end, which is its inode's, makes its token age.
class TokenFile final : public SyntheticFile {
 public:
  explicit TokenFile(Token& token) : token_(&token) {}
  ~TokenFile() override { token_->stage.fetch_add(1); }

  Errno Open(File&) override {
    Check();
    return Errno::kOk;
  }
  Result<size_t> Read(File&, uint64_t, std::span<char>) override {
    Check();
    return 0;
  }
  void Release(File&) override { Check(); }

  void Check() const {
    Token* const token = token_;
    EXPECT_EQ(token->stage.load(), 0);
    Spin(20);
    EXPECT_EQ(token->stage.load(), 0);
    EXPECT_EQ(token_, token);
  }

 private:
  Token* const token_;
};

// Asked about every inode that is looked at, in the middle of the read section.
class TokenHooks final : public SecurityHooks {
 public:
  Errno InodeGetattr(const Inode& inode) override {
    if (inode.IsSynthetic())
      static_cast<const TokenFile&>(inode.synthetic_file()).Check();
    return Errno::kOk;
  }
};

class InodeTortureTest : public CoreTest,
                         public testing::WithParamInterface<CoreVariant> {
 protected:
  InodeTortureTest() {
    VfsOptions options;
    options.fast_paths =
        GetParam().fast_paths ? FastPathSet::All() : FastPathSet::None();
    options.locked_walk_only = GetParam().locked_walk_only;
    options.hooks = &hooks_;
    Restart(options);
  }
  ~InodeTortureTest() override { Stop(); }  // before hooks and tokens go

  Token& NewToken() {
    absl::MutexLock lock(&mu_);
    return tokens_.emplace_back();
  }

  TokenHooks hooks_;
  absl::Mutex mu_;
  std::deque<Token> tokens_ ABSL_GUARDED_BY(mu_);
};

TEST_P(InodeTortureTest, NoLookupSeesAnInodeAge) {
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(main.MakeDirectory("/e"), Errno::kOk);
  const PinnedPath directory = Pin(main, "/d");
  const Process changer = Start();
  std::vector<Process> readers;
  for (int t = 0; t < 3; ++t) readers.push_back(Start());
  const auto name = [](Random& random) {
    return (random() % 4 == 0 ? "/e/n" : "/d/n") + std::to_string(random() % 4);
  };
  std::atomic<uint64_t> created{0};
  {
    Load load(0.5);
    load.Add([&](Random& random) {
      switch (random() % 4) {
        case 0:
        case 1: {
          Inode::Init init;
          init.mode = kSIfreg | 0666;
          init.ino = directory.mount().file_system().NextInodeNumber();
          init.synthetic = std::make_unique<TokenFile>(NewToken());
          const Errno error = CreateChild(
              directory.mount().file_system(), directory.inode(),
              "n" + std::to_string(random() % 4),
              PinnedInode::Adopt(
                  std::make_unique<Inode>(std::move(init)).release()));
          created += error == Errno::kOk ? 1 : 0;
          break;
        }
        case 2:
          changer.Rename(name(random), name(random));
          break;
        default:
          changer.Unlink(name(random));
      }
    });
    for (const Process& reader : readers) {
      load.Add([&](Random& random) {
        switch (random() % 3) {
          case 0:
            reader.Stat(name(random));
            break;
          case 1: {
            const Result<Handle> handle = reader.Open(name(random), kORdOnly);
            if (!handle.has_value()) break;
            // Whatever becomes of its name.
            EXPECT_TRUE(reader.StatHandle(*handle).has_value());
            std::array<char, 8> buffer;
            EXPECT_TRUE(reader.Read(*handle, buffer).has_value());
            EXPECT_EQ(reader.Close(*handle), Errno::kOk);
            break;
          }
          default: {
            ReadDirectoryOperation list;
            list.path = "/d";
            list.page_size = 10;
            list.with_attributes = true;
            EXPECT_TRUE(executor().Execute(reader.caller(), list).has_value());
          }
        }
      });
    }
    load.Wait();
    stress::Report(load);
  }
  EXPECT_GT(created.load(), 0U);
  for (const char* const path : {"/d", "/e"}) {
    for (const DirectoryEntry& entry : Entries(main, path))
      EXPECT_EQ(main.Unlink(std::string(path) + "/" + entry.name), Errno::kOk);
  }
  sync::RcuBarrier();
  // All have ended, each once.
  uint64_t ended = 0;
  absl::MutexLock lock(&mu_);
  for (const Token& token : tokens_) {
    EXPECT_EQ(token.stage.load(), 1);
    ++ended;
  }
  EXPECT_GE(ended, created.load());
}

INSTANTIATE_TEST_SUITE_P(Variants, InodeTortureTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfs
}  // namespace vfsd
