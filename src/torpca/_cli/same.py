"""Whether results that are there are those that would be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from torpca import __version__
from torpca._atomic import refuse_folder
from torpca._cli.data import Data
from torpca._cli.provenance import sha256_of
from torpca._cli.run import RESULTS, SUMMARY


def made_from(data: Data, options: Mapping[str, Any]) -> dict[str, Any]:
    """What results are made from: contents of the data, all options by name, and torpca's version.

    Results of the same are the same. It is stored beside them.
    """
    how = {name: value for name, value in asdict(data).items() if name != "path"}
    typed = {f"--{name.replace('_', '-')}": value for name, value in how.items()}
    return {
        "content": fingerprint(data.path),
        # As JSON has it, so that it can be compared with what is read back.
        "options": json.loads(json.dumps({**options, **typed})),
        "torpca_version": __version__,
    }


def fingerprint(path: str) -> str | None:
    """SHA-256 of a file, or of all files of a folder; None for what cannot be read twice."""
    place = Path(path)
    if path == "-" or not (place.is_file() or place.is_dir()):
        return None
    if place.is_file():
        return sha256_of(path)
    whole = sha256()
    for file in sorted(place.rglob("*")):
        if file.is_file():
            whole.update(f"{file.relative_to(place)}\n{sha256_of(file)}\n".encode(errors="replace"))
    return whole.hexdigest()


def may_replace(folder: Path, force: bool, now: Mapping[str, Any]) -> bool:
    """Whether results in `folder` may be replaced: with `force`, or if they would be the same.

    If they may not, an error says what is different.
    """
    if force:
        return True
    then = _stored(folder)
    if then is None:
        refuse_folder(folder, force, RESULTS)
        return False
    different = differences(then, now)
    if different:
        raise FileExistsError(
            f"{folder} already holds other results and was left as it is: {'; '.join(different)}. "
            "Choose another folder with --out, or replace the results with --force."
        )
    return True


def _stored(folder: Path) -> dict[str, Any] | None:
    """What the results in `folder` were made from; None if they do not say it."""
    try:
        content = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))["made_from"]
        dict(content["options"]), content["content"], str(content["torpca_version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(content)


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is different between what results were made from and what they would be made from."""
    told = []
    if then["content"] is None or now["content"] is None:
        told.append("standard input cannot be compared with that of the last run")
    elif then["content"] != now["content"]:
        told.append("the data has changed")
    for option in {**then["options"], **now["options"]}:
        before, after = (which["options"].get(option) for which in (then, now))
        if before != after:
            told.append(f"{option} was {_words(before)} and is {_words(after)} now")
    if then["torpca_version"] != now["torpca_version"]:
        told.append(
            f"they are from torpca {then['torpca_version']!s:.40}, and this is {__version__}"
        )
    return told


def _words(value: Any) -> str:
    """The value of an option as it is typed."""
    if value is None or value is False:
        return "not given"
    if value is True:
        return "given"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
