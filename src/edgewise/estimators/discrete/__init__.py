"""Estimators: discrete Markov networks."""
