# SPDX-License-Identifier: LGPL-2.1-or-later
"""Making the backend known to torch."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

NAME = "collective"

#: Least version of torch, as (major, minor): the first whose Backend can be derived from in Python.
LEAST = (2, 14)


def _version(text: str) -> tuple[int, int]:
    """Major and minor of a version as torch writes it: 2.14.1+debian, 2.15.0a0+git12."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Join a group, for init_process_group() and new_group()."""
    from .backend import Backend
    return Backend.join(store, rank, size, timeout)


def _refuse(*_arguments: Any) -> Any:
    import torch
    raise RuntimeError(f"collective: torch {LEAST[0]}.{LEAST[1]} or later is needed, this is "
                       f"{torch.__version__}")


def register() -> None:
    """Register the backend with torch.distributed; again is no error.

    With an older torch, what wants to use the backend gets a RuntimeError that says so.  Without
    torch.distributed there is nothing to register.
    """
    import torch
    import torch.distributed as dist
    if not dist.is_available() or NAME.upper() in getattr(dist.Backend, "_plugins", {}):
        return
    if _version(torch.__version__) >= LEAST:
        dist.Backend.register_backend(NAME, _create, devices=["cpu"])
    elif _version(torch.__version__) >= (2, 0):
        dist.Backend.register_backend(NAME, _refuse, devices=["cpu"])
    else:
        # It knows no devices.
        dist.Backend.register_backend(NAME, _refuse)
