"""Fitted models in files, and what earlier versions wrote into theirs."""
