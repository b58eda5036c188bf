"""From paths to sources: walking, decoding, notebooks."""
