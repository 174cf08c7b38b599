"""Simulators: a file per family."""
