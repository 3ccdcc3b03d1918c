"""Implements the tools that models call. `toolbox` carries out a call; `mcp` connects to servers of tools."""
