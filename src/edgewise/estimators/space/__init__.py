"""Estimators: variables that sit in space: sparse and locally constant graphs."""
