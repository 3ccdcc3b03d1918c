"""What models can call. `catalogue` says what is offered to whom, `belt` carries a call out."""
