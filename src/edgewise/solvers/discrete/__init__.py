"""Solvers: discrete Markov networks."""
