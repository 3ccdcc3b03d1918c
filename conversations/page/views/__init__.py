"""The pages, a file a page: guard, parse, act, render."""
