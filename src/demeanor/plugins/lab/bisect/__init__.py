"""`demeanor bisect`: find the commit that changed a behaviour, though each trial is uncertain."""
