#!/usr/bin/python3
"""vfsctl mount, unmount and mounts do what they say."""

import json
import subprocess
import unittest

import harness


class Mounts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server("--import", f"{harness.ROOT / 'proto'}:/data"))

    def ctl(self, *arguments, status=0):
        command = [harness.program("vfsctl"), f"--target={self.server.target}", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout if status == 0 else ran.stderr

    def mounts(self):
        return {mount["path"]: mount for mount in json.loads(self.ctl("mounts", "--json"))}

    def test_mount_and_unmount(self):
        self.assertIn("vfs", self.ctl("ls", "/data"))
        self.ctl("mount", "/data")
        self.assertEqual(self.ctl("ls", "/data"), "")
        self.assertEqual(self.mounts()["/data"]["type"], "mem")
        self.assertIn("/data", self.ctl("mounts"))
        self.ctl("mount", "/data", "--bind", "/proc", "-r")
        self.assertIn("version", self.ctl("ls", "/data"))
        self.ctl("unmount", "/data")
        self.ctl("mount", "/data", "--remount", "--read-only")
        self.assertTrue(self.mounts()["/data"]["read_only"])
        self.ctl("unmount", "--lazy", "/data")
        self.assertIn("vfs", self.ctl("ls", "/data"))
        self.assertIn("EINVAL", self.ctl("unmount", "/data/vfs", status=1))

    def test_what_cannot_be_mounted(self):
        self.assertIn("ENOENT", self.ctl("mount", "/nosuch", status=1))
        self.assertIn("ENOTDIR", self.ctl("mount", "/proc/version", status=1))
        self.ctl("mount", status=2)
        self.ctl("mount", "/data", "--bind", "/proc", "--remount", status=2)
        gone = subprocess.run(
            [harness.program("vfsctl"), "--target=127.0.0.1:1", "mounts"], capture_output=True, check=False, timeout=60
        )
        self.assertEqual(gone.returncode, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
