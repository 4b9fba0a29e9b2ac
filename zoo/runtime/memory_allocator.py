"""Settings of the memory allocators, which must be made before torch is imported."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8


def prepare_memory() -> None:
    """Makes all settings."""
    keep_freed_memory()
    keep_few_kernels()


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory for the next tensor instead of returning it to the kernel.

    By default the pages of every tensor above 32 MB are faulted in again at each step, which takes about a
    third of a training step on a CPU.
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
    """Makes oneDNN keep 128 kernels instead of 1,024, unless the variable is set.

    There is one for every shape, and one of a convolution in bfloat16 holds some 12 MB: batches of changing
    sizes filled 12.7 GB in two epochs of `experiment=flickr8k_soft_scratch`.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
