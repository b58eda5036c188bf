"""What earlier runs found, kept on disk for as long as it holds."""
