"""A corpus seen through a subject: an index of what every state says, and questions to it."""
