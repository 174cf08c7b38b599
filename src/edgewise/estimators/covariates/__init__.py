"""Estimators: networks that vary with covariates."""
