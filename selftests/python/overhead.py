# SPDX-License-Identifier: GPL-2.0-only
"""What Python adds to a call, over a stand-in of the library whose calls succeed at once (stub.c).

CPU time of the process, the least of many batches: other processes hardly change it.  A test fails
at BOUND times the target, because CPUs differ.
"""

import time

BATCHES = 400
CALLS = 50
BOUND = 3


def cpu_us(call, batches):
    """CPU time of a call in us, user and system, in all threads."""
    least = float("inf")
    for _ in range(batches):
        begin = time.process_time()
        for _ in range(CALLS):
            call()
        least = min(least, time.process_time() - begin)
    return least / CALLS * 1e6


def check(name, call, target=None, batches=BATCHES):
    """Print what a call takes, and compare it with a target in us."""
    us = cpu_us(call, batches)
    wanted = f", target {target} us" if target else ""
    print(f"# {name}: {us:.1f} us{wanted}")
    assert not target or us <= BOUND * target, f"{name} takes {us:.1f} us of CPU time{wanted}"
