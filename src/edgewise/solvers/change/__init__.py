"""Solvers: what changed between two conditions."""
