# SPDX-License-Identifier: GPL-2.0-only
"""Each rank contributes an array, and each gets the sum: collective-run -n 4 python3 sum.py"""

import numpy as np

import libcollective

with libcollective.init() as comm:
    total = comm.allreduce(np.full(4, comm.rank + 1.0))
    if comm.rank == 0:
        print(f"{comm.size} ranks: sum {total}")
