"""A corpus seen through a lens: an index of what every state says, and questions to it."""
