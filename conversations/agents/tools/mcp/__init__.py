"""Tools of MCP servers: connections over stdio and HTTP, their definitions, results and limits."""
