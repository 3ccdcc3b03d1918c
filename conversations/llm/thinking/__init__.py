"""A model's thoughts: their fields, their tags in a text, the efforts that ask for them."""
