"""What ran in a forward pass of a user's module: every call, every state."""
