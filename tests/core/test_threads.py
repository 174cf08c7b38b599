from __future__ import annotations

import scipy.linalg  # noqa: F401  (so that its BLAS is loaded too)
import threadpoolctl

from edgewise._core.jit import ONE_THREAD_BELOW, blas_threads_for


def blas_threads():
    libraries = threadpoolctl.threadpool_info()
    return [lib["num_threads"] for lib in libraries if lib["user_api"] == "blas"]


def test_small_problems_hold_blas_to_one_thread():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blas_threads_for(ONE_THREAD_BELOW - 1):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with blas_threads_for(ONE_THREAD_BELOW):
            assert blas_threads() == before
