"""Solvers: one undirected Gaussian graph."""
