"""The inventory of guards: each one, where it starts and ends, and what it covers."""
