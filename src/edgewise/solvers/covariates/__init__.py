"""Solvers: networks that vary with covariates."""
