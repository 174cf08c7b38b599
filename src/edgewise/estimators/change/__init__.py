"""Estimators: what changed between two conditions."""
