"""`/v1`: any OpenAI client talks to the site's models through it, and its histories never overflow.

A caller sends its whole history each time and keeps it. What is stored here is what a summary stands for, as a
conversation of kind gateway, found again by the digest of the history's beginning.
"""
