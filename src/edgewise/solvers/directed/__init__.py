"""Solvers: directed acyclic graphs."""
