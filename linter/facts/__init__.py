"""Framework facts: what is true of one framework and not of another, as TOML tables."""
