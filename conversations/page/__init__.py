"""The pages: views, fragments, the socket, and how a message looks."""
