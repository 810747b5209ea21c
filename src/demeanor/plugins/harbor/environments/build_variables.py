"""The variables of this machine that the steps of a Dockerfile get: where package managers download from."""

from __future__ import annotations

from collections.abc import Mapping

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
BUILD_VARIABLES = (
    *_PROXIES, *(name.upper() for name in _PROXIES), "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST",
    "UV_INDEX_URL", "UV_DEFAULT_INDEX", "npm_config_registry", "NPM_CONFIG_REGISTRY", "GOPROXY",
)  # fmt: skip
"""Proxies, as with `docker build`, and the package mirrors of pip, uv, npm and go."""

_LOCAL = "file:"


def build_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Those that are set, without folders of this machine. They are not part of the image, and say nothing about what
    is installed, so a result in the cache does not depend on them.
    """
    return {name: environ[name] for name in BUILD_VARIABLES if environ.get(name) and _LOCAL not in environ[name]}
