"""Training: any system on prepared data, on one device or many, resumable at any moment."""
