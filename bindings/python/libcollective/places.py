# SPDX-License-Identifier: LGPL-2.1-or-later
"""The processes of the ranks of this host, as sysfs shows them while they live."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import Process

GROUPS = Path("/sys/class/collective/collective/groups")


def _pid(rank: Path) -> int | None:
    try:
        return int((rank / "pid").read_text())
    except (OSError, ValueError):
        return None


def of_group(name: str, rank: int) -> dict[int, Process]:
    """The processes of a group, by rank.

    name: of the group, of which this process is @rank
    """
    folders = [GROUPS / name, GROUPS / f"{name}@{os.getuid()}"]
    for folder in folders:
        if _pid(folder / str(rank)) != os.getpid():
            continue
        pids = {int(entry.name): _pid(entry) for entry in folder.iterdir()
                if entry.name.isdecimal()}
        host = os.uname().nodename
        return {number: Process(pid, host) for number, pid in pids.items() if pid}
    return {}
