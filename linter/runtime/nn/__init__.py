"""Modules, layers, losses and initialisers."""
