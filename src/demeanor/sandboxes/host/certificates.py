"""The certificate authorities that this machine trusts, for programs in a sandbox that use its network.

A company's proxy or package mirror often has a certificate that only the company's own machines know. An image does
not, so its package managers would refuse to talk to the servers that those of this machine use.
"""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Mapping
from pathlib import Path

from demeanor.sandboxes.supervisor.rootfs import CERTIFICATES

_VARIABLES = (
    "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
)  # fmt: skip


def certificate_variables() -> Mapping[str, str]:
    """The variables by which programs in the sandbox find the certificates; apt has a setting of its own. Empty on a
    machine without certificates.
    """
    return dict.fromkeys(_VARIABLES, f"/{CERTIFICATES}") if _bundle() else {}


def copy_certificates(etc: Path) -> None:
    """Copy the certificates, if there are any, to a folder that becomes /etc."""
    if bundle := _bundle():
        target = etc / Path(CERTIFICATES).name
        shutil.copyfile(bundle, target)
        target.chmod(0o644)


def _bundle() -> str | None:
    """The file that $SSL_CERT_FILE names, or else the system's."""
    return ssl.get_default_verify_paths().cafile
