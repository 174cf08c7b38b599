"""Estimators: directed acyclic graphs."""
