"""Cassettes: the recorded exchanges of one trial, and a model that answers from them.

A cassette is made from a trial's capture (`recording`), stored as a file (`cassette`, `folder`), and replayed by an
upstream (`replay`) that compares requests by their normalised form (`normalise`, `rules`, `match`). It contains no
paths of the machine it was recorded on (`placeholders`), so it can be replayed on any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.cassette.cassette import (
        BadCassette as BadCassette,
        Cassette as Cassette,
        read_cassette as read_cassette,
        write_cassette as write_cassette,
    )
    from demeanor.gateway.cassette.folder import (
        CassetteFolder as CassetteFolder,
        write_cassette_file as write_cassette_file,
    )
    from demeanor.gateway.cassette.normalise import Normaliser as Normaliser
    from demeanor.gateway.cassette.prefix_file import (
        prefix_of as prefix_of,
        read_prefix as read_prefix,
        record_prefixes as record_prefixes,
        renew_prefix as renew_prefix,
    )
    from demeanor.gateway.cassette.prefix_replay import (
        PrefixComparison as PrefixComparison,
        PrefixReplay as PrefixReplay,
    )
    from demeanor.gateway.cassette.problems import CassetteProblem as CassetteProblem, audit as audit
    from demeanor.gateway.cassette.recording import Recorder as Recorder, scenario_fingerprint as scenario_fingerprint
    from demeanor.gateway.cassette.replay import ReplayModel as ReplayModel
    from demeanor.gateway.cassette.rules import mask_volatile as mask_volatile

__getattr__ = lazy_names(
    __name__,
    {
        "cassette": "BadCassette Cassette read_cassette write_cassette",
        "folder": "CassetteFolder write_cassette_file",
        "normalise": "Normaliser",
        "prefix_file": "prefix_of read_prefix record_prefixes renew_prefix",
        "prefix_replay": "PrefixComparison PrefixReplay",
        "problems": "CassetteProblem audit",
        "recording": "Recorder scenario_fingerprint",
        "replay": "ReplayModel",
        "rules": "mask_volatile",
    },
)
