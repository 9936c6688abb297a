"""Predictive semantic encodings: what each kind of state says about the labels."""
