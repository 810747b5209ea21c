"""The certificates of a cluster: a certificate authority, and one certificate for each role, all signed by it.

Scheduler, workers and conductor authenticate one another: a program without a certificate of this authority can't
connect. The authority's key is not kept, so no further certificate can be made; to add one, make all of them anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509 import Certificate

CA = "ca.pem"
ROLES = ("scheduler", "worker", "client")
_REMEDY = "make certificates: demeanor cluster certs DIR"


@dataclass(frozen=True, kw_only=True, slots=True)
class CertificateFolder:
    """A folder with the certificates of a cluster."""

    folder: Path
    """It contains `ca.pem`, and `ROLE.pem` and `ROLE.key` for each role that is needed on this machine."""

    def security(self, role: str) -> dict[str, Any]:
        """The TLS settings of a role, as keyword arguments of Dask's `Security`."""
        return {
            "require_encryption": True,
            "tls_ca_file": str(self.folder / CA),
            f"tls_{role}_cert": str(self.folder / f"{role}.pem"),
            f"tls_{role}_key": str(self.folder / f"{role}.key"),
        }

    def require(self, role: str) -> None:
        """Raise BadInput if a file that a role needs is missing."""
        for name in (CA, f"{role}.pem", f"{role}.key"):
            if not (self.folder / name).is_file():
                raise BadInput(f"{name} is missing", where=self.folder, remedy=_REMEDY)


def write_certificates(folder: Path, *, days: int = 365) -> tuple[Path, ...]:
    """Write the certificates of a new cluster into a folder that has none; returns the files."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError:
        raise UsageError(f"certificates need the extra `cluster`\n  → {install_extra('cluster')}") from None
    names = (CA, *(f"{role}{ending}" for role in ROLES for ending in (".pem", ".key")))
    existing = [name for name in names if (folder / name).exists()]
    if existing:
        remedy = "name an empty folder; all machines of a cluster need certificates of the same authority"
        raise BadInput(f"{existing[0]} exists already", where=folder, remedy=remedy)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def subject(role: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"demeanor-{role}")])

    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _signed(subject("ca"), subject("ca"), ca_key, ca_key, days=days, authority=True)
    written = [_write(folder / CA, _pem(ca), 0o644)]
    for role in ROLES:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(subject(role), subject("ca"), key, ca_key, days=days, authority=False)
        written.append(_write(folder / f"{role}.pem", _pem(certificate), 0o644))
        written.append(_write(folder / f"{role}.key", _private(key), 0o600))
    return tuple(written)


def _signed(
    subject: Any,
    issuer: Any,
    key: ec.EllipticCurvePrivateKey,
    ca_key: ec.EllipticCurvePrivateKey,
    *,
    days: int,
    authority: bool,
) -> Certificate:
    """A certificate for both directions of a connection, since workers accept connections and open them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks of other machines may be behind
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .add_extension(_key_usage(authority=authority), critical=True)
    )
    if not authority:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(ca_key, hashes.SHA256())


def _key_usage(*, authority: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return bytes(certificate.public_bytes(Encoding.PEM))


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write(path: Path, content: bytes, mode: int) -> Path:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path
