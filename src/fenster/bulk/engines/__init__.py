"""What tasks run on: this process, several processes, or a Ray cluster."""
