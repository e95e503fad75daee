# SPDX-License-Identifier: GPL-2.0-only
"""torch's own DistributedTest, on the tests that it has for Gloo.

Most of them ask for the name of the backend, so in these processes "gloo" is this one:

    of_torch.py [--gloo] [RANKS [PATTERN...]]   default: 4 ranks, all tests; --gloo: Gloo itself

Gloo itself, with torch 2.14 and 4 ranks, passes what is not in FAILING; most tests are for GPUs.
"""

import fnmatch
import os
import sys
import tempfile
import time
import traceback
import unittest

arguments = sys.argv[1:]
is_gloo = "--gloo" in arguments
arguments = [argument for argument in arguments if argument != "--gloo"]
del sys.argv[1:]
os.environ.update(BACKEND="gloo", WORLD_SIZE=arguments[0] if arguments else "4",
                  TEMP_DIR=tempfile.mkdtemp(), INIT_METHOD="env://")

import torch
import torch.distributed as dist
from torch.testing._internal import common_distributed
from torch.testing._internal.distributed import distributed_test
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend

from libcollective.torch import registration

#: Tests that fail with every backend.  Python 3.14 does not pickle their local class.
FAILING = "test_gather_object", "test_gather_object_subgroup"

torch.set_num_threads(1)
if not is_gloo:
    dist.Backend.register_backend("gloo", registration._create, devices=["cpu"])
    # It makes no events of its own for torch's profiler, which the tests would count.
    distributed_test.PROFILING_SUPPORTED_BACKENDS = []
    distributed_test.SEND_RECV_PROFILING_SUPPORTED_BACKENDS = []


class Tests(TestDistBackend, DistributedTest._DistTestBase):
    """Those of torch; ranks are children without an exec, because an import takes seconds."""

    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Tap(unittest.TestResult):
    """Prints a line a test."""

    number = 0

    def startTest(self, test):
        super().startTest(test)
        self.begin = time.monotonic()
        self.number += 1

    def say(self, word, test, what=""):
        print(f"{word} {self.number} {test._testMethodName}{what}")
        print(f"# {time.monotonic() - self.begin:.2f} s", flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("ok", test, f" # SKIP {' '.join(reason.split())}")

    def addFailure(self, test, error):
        print("# " + "".join(traceback.format_exception(*error)).replace("\n", "\n# "))
        if test._testMethodName in FAILING:
            self.say("not ok", test, " # TODO fails with every backend")
            return
        self.say("not ok", test)
        self.failures.append((test, ""))

    addError = addFailure


def main():
    # A test that waits for ever is no longer than this.
    common_distributed.TIMEOUT_DEFAULT = 60
    names = [name for name in unittest.defaultTestLoader.getTestCaseNames(Tests)
             if not arguments[1:] or any(fnmatch.fnmatch(name, wanted) for wanted in arguments[1:])]
    print(f"TAP version 13\n1..{len(names)}", flush=True)
    result = Tap()
    unittest.TestSuite([Tests(name) for name in names]).run(result)
    sys.exit(bool(result.failures))


if __name__ == "__main__":
    main()
