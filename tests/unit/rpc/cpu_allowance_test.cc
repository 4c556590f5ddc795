// CpuAllowance: affinity, and the quotas of control groups v1 and v2.
#include "server/rpc/cpu_allowance.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace vfsd::rpc {
namespace {

namespace fs = std::filesystem;

int Affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// A machine's files about control groups, with what a test writes into them.
class CpuAllowanceTest : public testing::Test {
 protected:
  CpuAllowanceTest()
      : root_(fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
  }
  ~CpuAllowanceTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  int Allowance() {
    return CpuAllowance({.membership = (root_ / "membership").string(),
                         .top = (root_ / "cgroup").string()});
  }
  // What a quota of this many CPUs comes to on this machine.
  static int AtMost(int cpus) { return std::min(cpus, Affinity()); }

 private:
  fs::path root_;
};

TEST_F(CpuAllowanceTest, WithoutControlGroupsTheAffinityCounts) {
  EXPECT_EQ(Allowance(), Affinity());
}

TEST_F(CpuAllowanceTest, OneCpuOfAffinityIsOneWhateverTheQuota) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  Write("membership", "0::/\n");
  Write("cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(Allowance(), 1);
  EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(CpuAllowanceTest, VersionTwo) {
  Write("membership", "0::/a/b\n");
  Write("cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(Allowance(), Affinity());
  Write("cgroup/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(Allowance(), 1);
  Write("cgroup/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(Allowance(), AtMost(2));
  Write("cgroup/a/b/cpu.max", "20000 100000\n");
  EXPECT_EQ(Allowance(), 1);
}

TEST_F(CpuAllowanceTest, TheLeastQuotaOnTheWayUpCounts) {
  Write("membership", "0::/a/b\n");
  Write("cgroup/a/b/cpu.max", "400000 100000\n");
  Write("cgroup/a/cpu.max", "100000 100000\n");
  EXPECT_EQ(Allowance(), 1);
}

TEST_F(CpuAllowanceTest, InAContainerThePathOfTheHostDoesNotExist) {
  Write("membership", "0::/machine/container-7\n");
  Write("cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Allowance(), 1);
}

TEST_F(CpuAllowanceTest, VersionOne) {
  Write("membership", "5:memory:/x\n3:cpu,cpuacct:/docker/7\n0::/\n");
  Write("cgroup/cpu/docker/7/cpu.cfs_quota_us", "-1\n");
  Write("cgroup/cpu/docker/7/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Allowance(), Affinity());
  Write("cgroup/cpu/docker/7/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(Allowance(), 1);
}

TEST_F(CpuAllowanceTest, WhatCannotBeReadLimitsNothing) {
  Write("membership", "nonsense\n0::/\n");
  Write("cgroup/cpu.max", "many of them\n");
  EXPECT_EQ(Allowance(), Affinity());
  Write("cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(Allowance(), Affinity());
}

}  // namespace
}  // namespace vfsd::rpc
