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
    errno.ENOSPC: ("the disk is full", "Free some space, or choose a place on another disk"),
    errno.EDQUOT: ("your share of the disk is used up", "Delete something, or choose another disk"),
    errno.EFBIG: ("the file would be too large", "Choose a place on another disk"),
    errno.EROFS: ("that disk can only be read", "Choose a place on another disk"),
}
# Failures that are about writing if they name a place where we write.
OF_PLACES = {
    errno.EACCES: ("you may not write there", "Choose another place, or ask for permission"),
    errno.EPERM: ("you may not write there", "Choose another place, or ask for permission"),
    errno.ENOENT: ("there is no such folder", "Make the folder first, or choose another"),
    errno.ENOTDIR: ("part of that path is a file, not a folder", "Choose another place"),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter one"),
}


class OutputError(OSError):
    """Something could not be written; what was there before is still there."""

    reason = hint = ""


def atomic_write(
    path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], *, force: bool = True
) -> Path:
    """Path of a file with the bytes that `write` writes, made at once or not at all.

    Parameters
    ----------
    path : path
        Where the file shall be. Its folder must be there.
    write : callable
        Called with a binary file that is open for writing and has no contents yet.
    force : bool, default=True
        Whether to replace a file that is there. It is left alone until the new one is complete.

    Returns
    -------
    Path

    Raises
    ------
    FileExistsError
        There is a file already, and `force` is false.
    OutputError
        It could not be written: no permission, no space, no such folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "new.txt", lambda file: file.write(b"whole")).read_text()
    'whole'
    """
    path = Path(path)
    with one_sentence(path, path):
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise _output_error(path, "it is a folder", "Give the name of a file")
            # A device or a pipe: nothing can be put in its place, and nothing in it is lost.
            with path.open("wb") as file:
                write(file)
            return path
        refuse_file(path, force)
        # A link stays, and what it points to is replaced.
        target = Path(os.path.realpath(path))
    part = _part_in(target.parent)
    with one_sentence(path, target.parent):
        file = part.open("xb")
    try:
        with one_sentence(path, part), file:
            write(file)
            file.flush()
            # Some file systems find out here, and not before, that there is no space.
            os.fsync(file.fileno())
        with one_sentence(path, target.parent):
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            refuse_file(path, force)
            part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], force: bool = False, names: Collection[str] | None = None
) -> Iterator[Path]:
    """Folder to build results in, whose contents are moved to `path` when all went well.

    Nothing appears under `path` before the end of the `with` block, and nothing at all if the
    block fails. A process that is killed outright can leave a hidden folder `.torpca-*.part`
    beside its results; it may be deleted.

    Parameters
    ----------
    path : path
        Where the results shall be. Made if need be, with the folders above it.
    force : bool, default=False
        Whether to replace results that are there. Other files in the folder are never touched.
    names : collection of str, optional
        All the names that results can have. With it, only these count as results that are there,
        and those of them that the new results lack are removed: nothing old is left among the
        new. Without it, all that is in the folder counts, and only what has a successor goes.

    Yields
    ------
    Path
        An empty folder on the same disk as `path`.

    Raises
    ------
    FileExistsError
        There are results already and `force` is false. Raised before the block is run.
    OutputError
        They could not be written: no permission, no space, a file of that name. What was there
        before is still there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as home:
    ...     results = Path(home) / "results"
    ...     with atomic_folder(results) as folder:
    ...         _ = (folder / "summary.txt").write_text("two bad rows")
    ...         print(results.exists())
    ...     print((results / "summary.txt").read_text())
    False
    two bad rows
    """
    path = Path(path)
    with one_sentence(path, path):
        if path.exists() and not path.is_dir():
            raise _output_error(path, "it is a file, not a folder", "Give another name")
        refuse_folder(path, force, names)
        # On the same disk, so that moving is renaming; inside the folder if there is one, as
        # that may be the only place where we may write.
        home = path
        while not home.exists() and home != home.parent:
            home = home.parent
    part = _part_in(home)
    with one_sentence(path, home):
        part.mkdir()
    try:
        try:
            with one_sentence(path, part):
                yield part
        except OutputError as error:  # about a file in the part, which nobody knows
            raise _output_error(path, error.reason, error.hint, error.errno) from error
        with one_sentence(path, home):
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
def one_sentence(path: Path, place: Path) -> Iterator[None]:
    """Turn failures to write below `place` into one sentence about `path`."""
    try:
        yield
    except (OutputError, FileExistsError):
        raise
    except OSError as error:
        known = OF_WRITING.get(error.errno or 0)
        # Reading can fail while we write, and is not our affair.
        if known is None and _is_below(error.filename, place):
            reason = (error.strerror or str(error)).lower()
            known = OF_PLACES.get(error.errno or 0, (reason, "Choose another place"))
        if known is None:
            raise
        raise _output_error(path, *known, number=error.errno) from error


def _output_error(path: Path, reason: str, hint: str, number: int | None = None) -> OutputError:
    error = OutputError(f"could not write {path}: {reason}. {hint}.")
    error.errno, error.reason, error.hint = number, reason, hint
    return error


def _is_below(name: Any, place: Path) -> bool:
    """Whether a file of this name, as an OSError has it, is `place` or below it."""
    if not isinstance(name, str | bytes):
        return False
    absolute = Path(os.path.abspath(os.fsdecode(name)))
    return absolute.is_relative_to(os.path.abspath(place))


def refuse_file(path: Path, force: bool) -> None:
    """Raise an error if there is a file and `force` is false; also to say so before the work."""
    if path.exists() and not force:
        raise FileExistsError(
            f"{path} is there already and was left as it is. Choose another name, or replace it "
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
            f"{path} holds {there[0]}{more} already and was left as it is. Choose another folder, "
            "or replace the results with --force (force=True in Python)."
        )


# ---- moving -------------------------------------------------------------------------------------


def _move_into(part: Path, folder: Path, names: Collection[str]) -> None:
    """Move all that is in `part` into `folder`; undo it all if one move fails."""
    new = {entry.name for entry in part.iterdir()}
    old = _part_in(folder)
    old.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for name in sorted(new.union(names)):
            if os.path.lexists(folder / name):
                moved.append(_rename(folder / name, old / name))
            if name in new:
                moved.append(_rename(part / name, folder / name))
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)


def _rename(source: Path, target: Path) -> tuple[Path, Path]:
    source.rename(target)
    return source, target


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
