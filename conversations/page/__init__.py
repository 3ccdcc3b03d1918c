"""The site's pages: views, HTML fragments for live updates, the WebSocket, and how a message is shown."""
