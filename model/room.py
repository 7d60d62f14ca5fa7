"""Is there room for a model? Memory and disk, estimated before anything large is begun."""

import shutil
from pathlib import Path

import psutil
import torch

from model.errors import ModelUnavailable

#: Bytes beside the weights: what a text of some hundred tokens, its trace and its logits take.
WORKING_MEMORY = 300_000_000
#: Bytes beside the weights that a prepared copy takes: the tokenizer's files.
WORKING_DISK = 20_000_000


def free_memory(device: str = "cpu") -> int:
    """Bytes that are free on a device; on the processor, what the container may still take if that is less."""
    if device.startswith("cuda"):
        return torch.cuda.mem_get_info(device)[0]
    return min([psutil.virtual_memory().available, *container_rooms()])


def container_rooms(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Bytes left under each memory limit that holds for this process (Linux control groups, both versions)."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    rooms = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            rooms += _rooms(groups, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            rooms += _rooms(groups / "memory", path, *names)
    return rooms


def _rooms(root: Path, path: str, limit: str, used: str, reclaimable: str) -> list[int]:
    """In the group of ``path`` and all above it: each may have a limit."""
    inside = Path(path.strip("/"))
    rooms = []
    for folder in (root / inside, *(root / above for above in inside.parents)):
        try:
            most, taken = int((folder / limit).read_text()), int((folder / used).read_text())
            # What was read from files and not looked at since is given up when memory is short.
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # no such group is seen from in here, or it has no limit ("max")
            continue
        rooms.append(max(0, most - taken + int(stat.get(reclaimable, 0))))
    return rooms


def check_memory(title: str, weights: int, device: str = "cpu") -> None:
    """Refuse a model whose weights would not fit.

    Args:
        weights: bytes they take as they are computed with.
        device: where it will compute; on the way there it is in the machine's own memory.

    Raises:
        ModelUnavailable: with what is needed and what is free.
    """
    needed = weights + WORKING_MEMORY
    free = min(free_memory(place) for place in {"cpu", device})
    if needed > free:
        raise ModelUnavailable(
            f"{title} needs about {needed / 1e9:.1f} GB of memory: {weights / 1e9:.1f} GB for its weights and "
            f"{WORKING_MEMORY / 1e9:.1f} GB to work in. {free / 1e9:.1f} GB are free. Close other programs, or pick "
            "a smaller model."
        )


def check_disk(title: str, weights: int, folder: Path) -> None:
    """Refuse to prepare a model whose copy would not fit into ``folder``.

    Raises:
        ModelUnavailable: with what is needed and what is free.
        OSError: if the folder cannot be looked at.
    """
    needed, free = weights + WORKING_DISK, shutil.disk_usage(folder).free
    if needed > free:
        raise ModelUnavailable(
            f"Preparing {title} needs {needed / 1e9:.1f} GB in {folder}, where {free / 1e9:.1f} GB are free. "
            "Make room there, or name another folder in EXPLAINER_CACHE."
        )
