"""Many documents: files and shards of corpora, on one process, several, or a cluster."""
