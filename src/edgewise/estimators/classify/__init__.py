"""Estimators: classification by networks."""
