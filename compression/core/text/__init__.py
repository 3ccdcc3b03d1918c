"""Finds the words, sentences, dates and numbers of a text, in nine languages."""
