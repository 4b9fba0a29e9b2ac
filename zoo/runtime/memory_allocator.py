"""What a process does with memory. Must be said before torch is imported, so this imports nothing heavy."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8


def prepare_memory() -> None:
    """All of what follows."""
    keep_freed_memory()
    keep_few_kernels()


def keep_freed_memory() -> None:
    """Tells glibc to keep what is freed for the next tensor instead of giving it back to the kernel.

    By default every tensor above 32 MB is returned and its pages are faulted in again at the next step, which
    costs a training step on a CPU about a third of its time. Other C libraries are left alone.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_M_ARENA_MAX, 1)


def keep_few_kernels() -> None:
    """Tells oneDNN, which makes products and filters on a CPU, to remember 128 kernels instead of 1,024.

    It makes one for every shape, and one for filters in bfloat16 holds some 12 MB: batches of changing sizes
    filled 12.7 GB in two epochs of `experiment=flickr8k_soft_scratch`. Whoever sets the variable decides.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
