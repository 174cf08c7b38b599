"""Estimators: one undirected Gaussian graph."""
