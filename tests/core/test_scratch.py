from __future__ import annotations

import threading

import numpy as np

from edgewise._core.jit import KEPT_BYTES, scratch


def test_a_name_keeps_its_memory_and_grows():
    first = scratch("test growth", (10,))
    assert np.shares_memory(first, scratch("test growth", (5,)))
    larger = scratch("test growth", (4, 5))
    assert larger.shape == (4, 5)
    assert np.shares_memory(larger, scratch("test growth", (20,)))


def test_names_and_threads_are_apart():
    mine = scratch("test apart", (10,))
    assert not np.shares_memory(mine, scratch("test other", (10,)))
    theirs = []
    thread = threading.Thread(target=lambda: theirs.append(scratch("test apart", (10,))))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, theirs[0])


def test_large_buffers_are_not_kept():
    most = KEPT_BYTES // 8
    kept = scratch("test limit", (most,))
    assert np.shares_memory(kept, scratch("test limit", (most,)))
    large = scratch("test limit", (most + 1,))
    assert not np.shares_memory(large, scratch("test limit", (most + 1,)))
