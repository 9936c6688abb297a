"""From a source of text to encoded sentences."""
