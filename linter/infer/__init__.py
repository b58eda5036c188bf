"""The abstract interpreter: which values can receive a gradient, and why not."""
