from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.plugins.cluster.certificates import CA, ROLES, CertificateFolder, write_certificates


def test_certificates_are_complete_and_their_keys_are_private(tmp_path: Path) -> None:
    """One authority, and a pair for each role that OpenSSL accepts."""
    folder = tmp_path / "certs"
    files = write_certificates(folder)
    assert {path.name for path in files} == {CA, *(f"{role}{ending}" for role in ROLES for ending in (".pem", ".key"))}
    for role in ROLES:
        assert stat.S_IMODE((folder / f"{role}.key").stat().st_mode) == 0o600
        context = ssl.create_default_context(cafile=str(folder / CA))
        context.load_cert_chain(folder / f"{role}.pem", folder / f"{role}.key")
        CertificateFolder(folder=folder).require(role)


def test_existing_certificates_are_not_replaced(tmp_path: Path) -> None:
    """The cluster that uses them would break."""
    write_certificates(tmp_path / "certs")
    before = (tmp_path / "certs" / CA).read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        write_certificates(tmp_path / "certs")
    assert (tmp_path / "certs" / CA).read_bytes() == before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the command that makes it."""
    with pytest.raises(BadInput, match=r"ca.pem is missing\n  → make certificates: demeanor cluster certs"):
        CertificateFolder(folder=tmp_path).require("client")
