# SPDX-License-Identifier: LGPL-2.1-or-later
"""The open communicators of this process, at its end and in its children.

A process that ends leaves its groups in good order.  After a fork the child gives back its copies
of descriptors and memory, and the groups stay the parent's.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import TYPE_CHECKING

from . import interrupt

if TYPE_CHECKING:
    from .communicator import Communicator

# A signal's handler may close a communicator, or the collector free one, while this thread has it.
_lock = threading.RLock()
_open: weakref.WeakSet[Communicator] = weakref.WeakSet()


def add(comm: Communicator) -> None:
    with _lock:
        _open.add(comm)


def remove(comm: Communicator) -> None:
    with _lock:
        _open.discard(comm)


def all_open() -> list:
    with _lock:
        return list(_open)


def _at_exit() -> None:
    interrupt.await_given_up()
    for comm in all_open():
        comm.close()


def _in_child() -> None:
    _lock.release()
    for comm in all_open():
        comm._disown()
    _open.clear()


# The lock is taken before, so that no other thread holds it in the child.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child)
atexit.register(_at_exit)
