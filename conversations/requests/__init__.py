"""The next request, its tokens by part, and the record of each request that was sent."""
