"""`/v1`: any OpenAI client talks to the site's models through it, and its histories never overflow.

A caller keeps its history and sends all of it each time. The site stores only the summarised part, as a conversation of
kind gateway, and finds it again by the digest of the history's beginning.
"""
