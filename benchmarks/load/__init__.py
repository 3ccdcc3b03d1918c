"""What a site bears: sockets, streams, stored messages, a storm of pages that come back, and long conversations.

`python -m benchmarks.load` runs all of it, `python -m benchmarks.load streams storm` some of it. The load is made on
the machine that is measured, by processes of its own: what they use is printed beside what the servers use.
"""
