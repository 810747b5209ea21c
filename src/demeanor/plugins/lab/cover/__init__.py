"""`demeanor cover`: which instructions of the prompt could be deleted without any eval noticing?"""
