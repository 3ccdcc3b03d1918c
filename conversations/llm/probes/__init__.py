"""Questions to a server about itself: does it answer, what window does a model have, which models are there."""
