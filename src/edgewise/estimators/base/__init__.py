"""What the estimators of all families share."""
