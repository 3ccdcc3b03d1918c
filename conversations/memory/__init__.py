"""Memory of what left a request: the search index, recall of passages, citations of summaries, facts kept."""
