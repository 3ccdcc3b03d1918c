"""Schemas of the API's bodies and answers, a file a noun; OpenAPI and the docs page are made from them."""
