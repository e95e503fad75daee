# SPDX-License-Identifier: LGPL-2.1-or-later
"""Collective operations between processes, done by the Linux kernel module "collective".

    import numpy as np
    import libcollective

    with libcollective.init() as comm:
        total = comm.allreduce(np.full(4, comm.rank + 1.0))

init() joins a group and returns a Communicator, whose methods are the collectives.  Arrays are
those of NumPy, and what has the buffer protocol or DLPack on the CPU.  An input that is not
C-contiguous, or has the other byte order, is copied.  A result is stored in out, which must be
writable, C-contiguous, aligned and in native byte order, or else in a new array of NumPy.
"""

from .communicator import Communicator, init, library_version
from .errors import Error, GroupError, OperationError
from .library import LibraryError
from .request import PersistentRequest, Request, wait_all, wait_any
from .structs import Op
from .version import __version__

__all__ = ["Communicator", "Error", "GroupError", "LibraryError", "Op", "OperationError",
           "PersistentRequest", "Request", "__version__", "init", "library_version", "wait_all",
           "wait_any"]
