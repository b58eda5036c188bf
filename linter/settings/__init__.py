"""What is in force for a file: configuration files, the command line, and which rules they choose."""
