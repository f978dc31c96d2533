"""`fenster serve`: translations over HTTP. One thread owns the model; requests in flight share its batches."""
