# SPDX-License-Identifier: GPL-2.0-only
"""What the methods of a communicator add to the C call, on arrays of NumPy; see overhead.py."""

import numpy as np

import libcollective
from overhead import check
from tap import main, test

#: us
TARGET = 10


@test
def numpy():
    with libcollective.init() as comm:
        assert comm.name == "stub", "the library is not the stand-in"
        array, result = np.ones(2, np.float32), np.empty(2, np.float32)
        check("barrier()", comm.barrier)
        check("allreduce(x)", lambda: comm.allreduce(array), TARGET)
        check("allreduce(x, out=x)", lambda: comm.allreduce(array, out=array), TARGET)
        check("allreduce(x, out=y)", lambda: comm.allreduce(array, out=result), TARGET)
        check("broadcast(x)", lambda: comm.broadcast(array))
        check("allgather(x)", lambda: comm.allgather(array))
        check("iallreduce(x, out=x).wait()", lambda: comm.iallreduce(array, out=array).wait())


if __name__ == "__main__":
    main()
