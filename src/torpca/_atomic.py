"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

# What is not finished yet has a name of this form, beside the place where it will be.
PREFIX, SUFFIX = ".torpca-", ".part"
# Failures that can only come of writing, with what to say and what to try.
OF_WRITING = {
    errno.ENOSPC: "the disk is full. Free some space, or choose a place on another disk",
    errno.EDQUOT: "your share of the disk is used up. Delete something, or choose another disk",
    errno.EFBIG: "the file would be too large. Choose a place on another disk",
    errno.EROFS: "that disk can only be read. Choose a place on another disk",
}
# Failures that are about writing if they name something unfinished, or where it will be.
OF_PLACES = {
    errno.EACCES: "you may not write there. Choose another place, or ask for permission",
    errno.EPERM: "you may not write there. Choose another place, or ask for permission",
    errno.ENOENT: "there is no such folder. Make the folder first, or choose another",
    errno.ENOTDIR: "part of that path is a file, not a folder. Choose another place",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one",
}


class OutputError(OSError):
    """Something could not be written; what was there before is still there."""

    why = ""


def atomic_write(
    path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], *, force: bool = True
) -> Path:
    """Path of a file with the bytes that `write` writes to the binary file it is called with.

    It is made at once or not at all, in a folder that is there. A file that is there is left alone
    until the new one is complete, and for good, with FileExistsError, if `force` is false.
    """
    path = Path(path)
    # A link stays, and what it points to is replaced.
    target = Path(os.path.realpath(path))
    part = _part_in(target.parent)
    with failures_as_sentences(path):
        if path.is_dir():
            raise _failed(path, "it is a folder. Give the name of a file")
        if path.exists() and not path.is_file():
            # A device or a pipe: nothing can be put in its place, and nothing in it is lost.
            with path.open("wb") as file:
                write(file)
            return path
        refuse_file(path, force)
        file = part.open("xb")
        try:
            with file:
                write(file)
                file.flush()
                # Some file systems find out here, and not before, that there is no space.
                os.fsync(file.fileno())
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            refuse_file(path, force)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return path


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], force: bool = False, names: Collection[str] | None = None
) -> Iterator[Path]:
    """Folder to build results in, whose contents are moved to `path` when all went well.

    Nothing appears under `path`, which is made if need be, before the end of the `with` block, and
    nothing at all if the block fails. A process that is killed outright can leave a hidden folder
    `.torpca-*.part` beside its results; it may be deleted.

    If results are there, FileExistsError is raised before the block is run or, with `force`, they
    are replaced. `names` are all the names that results can have: only these count then, and
    those that the new results lack are removed, so that nothing old is left among the new. Without
    it all that is in the folder counts, and only what has a successor goes. No other file is
    touched.
    """
    path = Path(path)
    # On the same disk, so that moving is renaming; inside the folder if there is one, as that may
    # be the only place where we may write.
    part = _part_in(next((home for home in (path, *path.parents) if os.path.exists(home)), path))
    with failures_as_sentences(path):
        if path.exists() and not path.is_dir():
            raise _failed(path, "it is a file, not a folder. Give another name")
        refuse_folder(path, force, names)
        part.mkdir()
        try:
            yield part
            _flush(part)
            refuse_folder(path, force, names)
            if path.exists():
                _move_into(part, path, names or ())
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


# ---- one sentence for each failure --------------------------------------------------------------


@contextmanager
def failures_as_sentences(path: Path) -> Iterator[None]:
    """Turn failures to write `path` into one sentence about it."""
    try:
        yield
    except FileExistsError:
        raise
    except OutputError as error:  # perhaps about a file in a part, which nobody knows
        raise _failed(path, error.why, error.errno) from error
    except OSError as error:
        why = OF_WRITING.get(error.errno or 0)
        if why is None and (_is_ours(error.filename, path) or _is_ours(error.filename2, path)):
            reason = (error.strerror or str(error)).lower()
            why = OF_PLACES.get(error.errno or 0, f"{reason}. Choose another place")
        if why is None:  # reading can fail while we write, and is not our affair
            raise
        raise _failed(path, why, error.errno) from error


def _failed(path: Path, why: str, number: int | None = None) -> OutputError:
    error = OutputError(f"could not write {path}: {why}.")
    error.errno, error.why = number, why
    return error


def _is_ours(name: Any, path: Path) -> bool:
    """Whether a name, as an OSError has it, is of a part, of `path` or of a folder above it."""
    if not isinstance(name, str | bytes):
        return False
    place = Path(os.path.abspath(os.fsdecode(name)))
    return any(map(_is_part, place.parts)) or Path(os.path.abspath(path)).is_relative_to(place)


def refuse_file(path: Path, force: bool) -> None:
    """Raise an error if there is a file and `force` is false; also to say so before the work."""
    if path.exists() and not force:
        raise FileExistsError(
            f"{path} already exists and was left as it is. Choose another name, or replace it "
            "with --force (force=True in Python)."
        )


def refuse_folder(path: Path, force: bool, names: Collection[str] | None = None) -> None:
    """Raise an error if results are there, see `atomic_folder`; also to say so before the work."""
    if force or not path.is_dir():
        return
    there = sorted(entry.name for entry in path.iterdir() if not _is_part(entry.name))
    if names is not None:
        there = [name for name in there if name in names]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise FileExistsError(
            f"{path} already holds {there[0]}{more} and was left as it is. Choose another folder, "
            "or replace the results with --force (force=True in Python)."
        )


# ---- moving -------------------------------------------------------------------------------------


def _move_into(part: Path, folder: Path, names: Collection[str]) -> None:
    """Move all that is in `part` into `folder`; undo it all if one move fails."""
    new = {entry.name for entry in part.iterdir()}
    old = _part_in(folder)
    old.mkdir()
    moves = [
        (source / name, target / name)
        for name in sorted(new.union(names))
        for source, target in ((folder, old), (part, folder))
    ]
    moved = []
    try:
        for source, target in moves:
            if os.path.lexists(source):
                source.rename(target)
                moved.append((source, target))
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Have all files below `folder` on the disk."""
    for entry in folder.rglob("*"):
        if entry.is_file():
            with entry.open("rb+") as file:
                os.fsync(file.fileno())


def _part_in(folder: Path) -> Path:
    """Name of something in `folder` that is not finished."""
    # Not made by `tempfile`: its files are for their owner alone, and results are for others too.
    return folder / f"{PREFIX}{token_hex(8)}{SUFFIX}"


def _is_part(name: str) -> bool:
    return name.startswith(PREFIX) and name.endswith(SUFFIX)
