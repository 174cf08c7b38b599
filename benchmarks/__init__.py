"""Ours beside its peers: the same problem, the same accuracy, one run, one BLAS thread."""

import os

# Thread pools read these once, when numpy first loads its BLAS, and every child process
# (workers, R) inherits them.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
