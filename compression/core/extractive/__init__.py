"""The summariser without a model: it selects the sentences, facts and code lines that matter most."""
