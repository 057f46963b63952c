"""The data card: how much of what there is."""

from collections.abc import Mapping
from typing import Any

from counterpoise.diagnosis import Diagnosis
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD


def data_section(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return rows and columns as a diagnosis has seen them."""
    return {
        "source": {
            "rows": diagnosis.n_source,
            "duplicates": diagnosis.source_duplicates,
        },
        "target": {
            "rows": diagnosis.n_target,
            "duplicates": diagnosis.target_duplicates,
        },
        "columns": [
            {
                "name": feature.name,
                "kind": feature.kind,
                "missing_source": feature.source_missing,
                "missing_target": feature.target_missing,
            }
            for feature in diagnosis.features
        ],
        "dropped": dict(diagnosis.dropped),
    }


def with_what_is_told(
    found: Mapping[str, Any], told: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a data card with what a caller knows put over it, each sample by itself.

    Examples
    --------
    >>> with_what_is_told({"source": {"rows": 9}}, {"source": {"file": "a.csv"}})
    {'source': {'rows': 9, 'file': 'a.csv'}}
    """
    told = without_rare_classes(told)
    samples = {
        key: {**(found.get(key) or {}), **told[key]}
        for key in ("source", "target")
        if told.get(key)
    }
    return {**found, **told, **samples}


def without_rare_classes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data card on which classes of fewer than 5 rows have no names.

    Examples
    --------
    >>> classes = [{"class": "a", "rows": 9}, {"class": "b", "rows": 2}]
    >>> without_rare_classes({"classes": classes})["classes"]
    [{'class': 'a', 'rows': 9}]
    """
    if "classes" not in data:
        return dict(data)
    common = [one for one in data["classes"] if one["rows"] >= FEWEST_ROWS_TOLD]
    rare = len(data["classes"]) - len(common)
    more = {"rare_classes": rare} if rare else {}
    return {**data, "classes": common, **more}
