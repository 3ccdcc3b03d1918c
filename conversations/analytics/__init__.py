"""What conversations took, cost and saved, as figures and as charts."""
