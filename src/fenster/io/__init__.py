"""Files, locks, hashes, progress and plots: what every other room may use, and knows no other."""
