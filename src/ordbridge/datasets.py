"""Old names: the readers of published ratings are in :mod:`ordbridge.data`."""

from __future__ import annotations

from ordbridge.deprecated import old_names

__getattr__ = old_names(
    "ordbridge.datasets",
    {
        name: f"ordbridge.data.{name}"
        for name in ("describe", "read_flickr8k", "read_huse", "read_nem", "read_pplm", "read_qgstec")
    },
)
