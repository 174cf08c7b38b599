"""Solvers on arrays of other libraries than numpy, such as those of a GPU."""
