from __future__ import annotations

import ssl
import stat
from pathlib import Path

import dask
import pytest
from distributed.security import Security

from demeanor.core.values.errors import BadInput
from demeanor.plugins.cluster.certificates import (
    CERTIFICATE,
    KEY,
    SETTINGS,
    SETTINGS_FILE,
    require_certificate,
    security,
    write_certificate,
)


def test_a_certificate_is_complete_and_its_key_is_private(tmp_path: Path) -> None:
    """OpenSSL accepts the pair, and it serves every role."""
    folder = tmp_path / "certs"
    assert write_certificate(folder) == (folder / CERTIFICATE, folder / KEY, folder / SETTINGS_FILE)
    assert stat.S_IMODE((folder / KEY).stat().st_mode) == 0o600
    context = ssl.create_default_context(cafile=str(folder / CERTIFICATE))
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    require_certificate(folder)
    settings = security(folder)
    assert settings.require_encryption
    for role in ("scheduler", "worker", "client"):
        assert settings.get_tls_config_for_role(role)["key"] == str(folder / KEY)


def test_dasks_own_programs_find_certificate_and_settings_in_the_folder(tmp_path: Path) -> None:
    """As `DASK_CONFIG=certs dask scheduler` reads them."""
    folder = tmp_path / "certs"
    write_certificate(folder)
    read = dask.config.merge(dask.config.config, dask.config.collect(paths=[str(folder)], env={}))
    with dask.config.set(read):
        found, expected = Security(), security(folder)
        assert found.require_encryption
        for role in ("scheduler", "worker", "client"):
            assert found.get_tls_config_for_role(role) == expected.get_tls_config_for_role(role)
        assert dask.config.get("distributed.comm.default-scheme") == "tls"
        settings = {name: value for name, value in SETTINGS.items() if value != {}}
        assert {name: dask.config.get(name) for name in settings} == settings


def test_an_existing_certificate_is_not_replaced(tmp_path: Path) -> None:
    """The cluster that uses it would break."""
    write_certificate(tmp_path / "certs")
    before = (tmp_path / "certs" / CERTIFICATE).read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        write_certificate(tmp_path / "certs")
    assert (tmp_path / "certs" / CERTIFICATE).read_bytes() == before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the command that makes it."""
    with pytest.raises(BadInput, match=r"cluster.pem is missing\n  → make a certificate: demeanor cluster certs"):
        require_certificate(tmp_path)
