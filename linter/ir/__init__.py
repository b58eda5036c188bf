"""The gradient-flow IR."""
