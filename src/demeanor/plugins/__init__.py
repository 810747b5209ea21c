"""The plug-ins that come with Demeanor: found by entry points, like those of other packages."""
