"""Usage analytics: tokens, cost, savings and waiting times of requests, as figures and as charts."""
