"""What the API's bodies and answers look like, a file a noun; OpenAPI and the docs page are made from them."""
