"""Studies of Gaussian graphs."""
