"""The interpreter of lowered Rust: what a finding's program does on the embedded runtime."""
