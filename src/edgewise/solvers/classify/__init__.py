"""Solvers: classification by networks."""
