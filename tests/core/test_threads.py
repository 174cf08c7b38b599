from __future__ import annotations

import threadpoolctl

from edgewise._core.threads import ONE_THREAD_BELOW, blas_threads_for


def blas_threads():
    return {
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    }


def test_small_problems_hold_blas_to_one_thread():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with blas_threads_for(ONE_THREAD_BELOW - 1):
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with blas_threads_for(ONE_THREAD_BELOW):
            assert blas_threads() == {2}
