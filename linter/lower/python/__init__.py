"""Lowering of libcst trees; importing this package's modules imports libcst."""
