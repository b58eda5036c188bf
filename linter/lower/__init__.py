"""Front ends: from source text to the gradient-flow IR."""
