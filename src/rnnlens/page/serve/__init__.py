"""The lens over HTTP, on this machine."""
