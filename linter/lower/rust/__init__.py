"""The Rust front end: tree-sitter's tree, lowered to the IR piece by piece."""
