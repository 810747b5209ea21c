"""`demeanor note`: label a trial, or list the labels."""
