"""Lasso regressions from a Gram matrix."""
