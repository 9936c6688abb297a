"""Which axis of a tensor is time, and what lies beside what."""
