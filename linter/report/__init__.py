"""Renderings of a report, of the guard inventory and of the rule pages; all return text, none prints.

Import from the modules: `formats.render` draws a report in any format, `summary` tells it in a sentence or in
numbers, `guards` draws the inventory, `pages` the documentation of rules; `terminal` knows what the output
stream can show. A run imports only what it draws with.
"""
