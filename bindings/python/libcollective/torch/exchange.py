# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exchange of addresses, by a Store of torch."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any, Callable, Sequence

from .. import interrupt

#: First and longest pause between two looks at the store, s.
SHORTEST_PAUSE = 0.0005
LONGEST_PAUSE = 0.05

#: Bytes of the random number by which a process is known.
NONCE_BYTES = 8


class StoreExchange:
    """Collects the bytes of all ranks, as init() of the package wants it.

    store: of torch, with a prefix of this group
    rank, size: of this process, and number of ranks
    seconds: time limit of one exchange

    A store outlives groups and attempts: torch gives the next group of the same name the same
    prefix, and the agent of torchrun keeps its store over restarts.  So the ranks first agree on
    names of keys that nothing has used before.  Then they make the same exchanges in the same
    order.  The last rank says in the store that all parts are there, so that the others look at
    one key, and the last one that has read them deletes them.
    """

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._seconds = seconds
        self._count = 0
        self._digest = ""

    def agree(self) -> str:
        """Agree with the other ranks.  Return: the same letters on all of them, of this group alone.

        Raises RuntimeError if a rank does not come in time.
        """
        if not self._digest:
            self._digest = Agreement(self._store, self._rank, self._size, self._seconds).digest
        return self._digest

    def __call__(self, mine: bytes) -> list[bytes]:
        prefix = f"libcollective/{self.agree()}/{self._count}"
        self._count += 1
        parts = [f"{prefix}/{rank}" for rank in range(self._size)]
        ranks, complete, read = f"{prefix}/ranks", f"{prefix}/complete", f"{prefix}/read"
        self._store.set(parts[self._rank], mine)
        if self._store.add(ranks, 1) == self._size:
            self._store.set(complete, b"1")
        else:
            _await(lambda: self._store.check([complete]), self._seconds,
                   lambda: _missing(self._store, parts))
        found = [bytes(self._store.get(part)) for part in parts]
        if self._store.add(read, 1) == self._size:
            for key in (*parts, ranks, complete, read):
                self._store.delete_key(key)
        return found


class Agreement:
    """A part of keys, on which the processes agree that form the group now.

    Each of them draws a random number, and rank 0 offers a list of all.  A process takes an offer
    that has its own number, and only that: others are from earlier attempts.  When all have taken
    the same, it is agreed, and its digest is that part.
    """

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self._store = store
        self._here = [f"libcollective/here/{other}" for other in range(size)]
        self._taken = [f"libcollective/taken/{other}" for other in range(1, size)]
        self._nonce = os.urandom(NONCE_BYTES).hex().encode()
        self._digest = b""
        store.set(self._here[rank], self._nonce)
        if rank == 0:
            _await(self._offer, seconds, self._absent)
            store.set("libcollective/agreed", self._digest)
        else:
            _await(lambda: self._take(rank), seconds, lambda: _missing(store, self._here))

    @property
    def digest(self) -> str:
        return self._digest.decode()

    def _offer(self) -> bool:
        """Offer what is there.  Return: have all taken it?"""
        if not self._store.check(self._here):
            return False
        offer = b",".join(self._store.get(key) for key in self._here)
        if self._digest != _digest(offer):
            self._digest = _digest(offer)
            self._store.set("libcollective/offer", offer)
        return not self._not_taken()

    def _not_taken(self) -> list[int]:
        return [rank for rank, key in enumerate(self._taken, 1)
                if not self._store.check([key]) or self._store.get(key) != self._digest]

    def _absent(self) -> list[int]:
        return _missing(self._store, self._here) or self._not_taken()

    def _take(self, rank: int) -> bool:
        """Take an offer that is not that of an earlier attempt.  Return: is it agreed?"""
        if not self._store.check(["libcollective/offer"]):
            return False
        offer = self._store.get("libcollective/offer")
        numbers = offer.split(b",")
        if len(numbers) != len(self._here) or numbers[rank] != self._nonce:
            return False
        if self._digest != _digest(offer):
            self._digest = _digest(offer)
            self._store.set(self._taken[rank - 1], self._digest)
        return (self._store.check(["libcollective/agreed"]) and
                self._store.get("libcollective/agreed") == self._digest)


def _digest(offer: bytes) -> bytes:
    return hashlib.sha256(offer).hexdigest()[:32].encode()


def _missing(store: Any, keys: Sequence[str]) -> list[int]:
    return [rank for rank, key in enumerate(keys) if not store.check([key])]


def _await(is_done: Callable[[], bool], seconds: float,
           find_absent: Callable[[], list[int]]) -> None:
    """Look again and again.  Raises RuntimeError after the time limit, with the absent ranks."""
    end = time.monotonic() + seconds
    pause = SHORTEST_PAUSE
    while not is_done():
        if interrupt.is_given_up():
            raise RuntimeError("collective: the exchange was given up")
        if time.monotonic() >= end:
            raise RuntimeError(f"collective: {_ranks(find_absent())} did not come within "
                               f"{seconds:g} s to form the group")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _ranks(numbers: list[int]) -> str:
    if not numbers:
        return "a rank"
    return f"rank{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
