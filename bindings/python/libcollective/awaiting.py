# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting for requests in asyncio, by the descriptor of their communicator.

The descriptor is readable as long as an operation is complete that no thread has waited for, which
may be one that no task awaits.  So after it has told of no operation that is awaited, the event
loop looks at it a moment later.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from .request import OTHERS_PAUSE, Request


class Watch:
    """The awaited requests of a communicator in one event loop, which runs whatever is here.

    descriptor: copy of the communicator's, which is this object's own: the loop may still look at
        it when the communicator is closed; -1: closed, too
    awaited: futures of the requests
    looks: True while the loop looks at the descriptor
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.awaited: dict[Request, asyncio.Future] = {}
        self.looks = False

    def add(self, request: Request) -> asyncio.Future:
        future = self.awaited.get(request)
        if future is None:
            future = self.awaited[request] = asyncio.get_running_loop().create_future()
            self.look()
        return future

    def look(self) -> None:
        if self.awaited and not self.looks and self.descriptor >= 0:
            asyncio.get_running_loop().add_reader(self.descriptor, self.told)
            self.looks = True

    def look_away(self) -> None:
        if self.looks:
            asyncio.get_running_loop().remove_reader(self.descriptor)
            self.looks = False

    def collect(self) -> bool:
        """Complete the futures of what has ended.  Return: has anything?"""
        ended = [request for request in self.awaited if request.done]
        for request in ended:
            future = self.awaited.pop(request)
            if not future.done():
                future.set_result(None)
        return bool(ended)

    def told(self) -> None:
        """An operation has ended, or the group has failed."""
        found = self.collect()
        if not found:
            asyncio.get_running_loop().call_later(OTHERS_PAUSE, self.look_again)
        if not found or not self.awaited:
            self.look_away()

    def look_again(self) -> None:
        self.collect()
        self.look()

    def close(self) -> None:
        """The communicator is closed."""
        self.look_away()
        self.release()
        self.collect()

    def release(self) -> None:
        """Close the descriptor, at which no loop looks any more."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()


async def wait(request: Request) -> Any:
    """Wait for a request in the running event loop.  Returns and raises as Request.wait()."""
    if not request.done:
        watch = request._comm._watch(asyncio.get_running_loop(), request)
        # Several tasks may await the same request, and one of them be cancelled.
        await asyncio.shield(watch.add(request))
    return request.wait()
