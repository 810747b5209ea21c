"""Container images without a container engine: pulled from a registry, unpacked into root file systems, and cached.

reference.py parses the names of images. manifest.py reads what registries send. layer.py applies layers to a folder.
cache.py keeps what was downloaded and unpacked. pull.py speaks the protocol of registries, and puts these together: the
name of an image in, a root file system and its settings out.
"""
