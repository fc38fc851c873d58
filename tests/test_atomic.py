"""Results that are there whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from torpca import _atomic
from torpca._atomic import OutputError, atomic_folder, atomic_write


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def tree(folder):
    """All that is below a folder, hidden or not, with contents."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in sorted(folder.rglob("*"))
    }


def says(error, *words):
    text = str(error.value)
    assert "\n" not in text
    assert "Errno" not in text
    assert text.endswith(".")
    for word in words:
        assert str(word) in text


def forbid(monkeypatch, folder, number=errno.EACCES):
    """Have the system refuse to make anything in `folder`, also to the administrator."""
    opened, made = Path.open, Path.mkdir

    def refuse(path):
        if Path(path).parent == folder:
            raise OSError(number, os.strerror(number), str(path))

    def no_open(self, mode="r", *args, **kwargs):
        if "r" not in mode:
            refuse(self)
        return opened(self, mode, *args, **kwargs)

    def no_mkdir(self, *args, **kwargs):
        refuse(self)
        return made(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", no_open)
    monkeypatch.setattr(Path, "mkdir", no_mkdir)


# ---- one file -----------------------------------------------------------------------------------


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.txt"
    assert atomic_write(path, lambda file: file.write(b"one")) == path
    assert atomic_write(str(path), lambda file: file.write(b"two")) == path
    assert tree(tmp_path) == {"a.txt": b"two"}


def test_nothing_is_there_before_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    atomic_write(path, write)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_what_was_there(old, failure, tmp_path):
    path = tmp_path / "a.txt"
    if old is not None:
        path.write_bytes(old)

    def write(file):
        file.write(b"half")
        raise failure

    before = tree(tmp_path)
    with pytest.raises(failure):
        atomic_write(path, write)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_full_disk(where, tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    if where == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    if where == "replace":
        monkeypatch.setattr(Path, "replace", full)
    write = full if where == "write" else lambda file: file.write(b"new")
    with pytest.raises(OutputError) as error:
        atomic_write(path, write)
    says(error, path, "the disk is full", "Free some space")
    assert error.value.errno == errno.ENOSPC
    assert tree(tmp_path) == {"a.txt": b"old"}


def test_a_disk_that_is_full_of_a_folder_is_told_of_the_folder(tmp_path):
    with pytest.raises(OutputError) as error, atomic_folder(tmp_path / "results") as part:
        atomic_write(part / "a.txt", full)
    says(error, tmp_path / "results", "the disk is full", "Free some space")
    assert ".part" not in str(error.value)
    assert tree(tmp_path) == {}


def test_no_permission(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    forbid(monkeypatch, tmp_path)
    with pytest.raises(OutputError) as error:
        atomic_write(path, lambda file: pytest.fail("nothing can be written"))
    says(error, path, "may not write there", "Choose another place")
    assert tree(tmp_path) == {"a.txt": b"old"}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator may write anywhere"
)
def test_no_permission_for_real(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="may not write there"):
        atomic_write(folder / "a.txt", lambda file: file.write(b"new"))
    with pytest.raises(OutputError, match="may not write there"), atomic_folder(folder / "new"):
        pytest.fail("the block must not be run")


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path, reason in [
        (tmp_path / "no" / "a.txt", "no such folder"),
        (tmp_path / "file" / "a.txt", "is a file, not a folder"),
        (tmp_path, "it is a folder"),
        (tmp_path / ("a" * 300), "too long"),
    ]:
        with pytest.raises(OutputError) as error:
            atomic_write(path, lambda file: file.write(b"new"))
        says(error, path, reason)
    assert tree(tmp_path) == {"file": b""}


def test_failures_that_are_not_of_writing_are_not_renamed(tmp_path):
    with pytest.raises(FileNotFoundError):  # beside the result, so that the place tells nothing
        atomic_write(tmp_path / "a.txt", lambda file: (tmp_path / "data.csv").read_text())
    for out in (tmp_path / "out", tmp_path):  # beside the folder, and in it
        with pytest.raises(FileNotFoundError), atomic_folder(out) as part:
            atomic_write(part / "a.txt", lambda file: (tmp_path / "data.csv").read_text())
    assert tree(tmp_path) == {}


def test_an_old_result_that_may_not_be_replaced_is_told_of_the_folder(tmp_path, monkeypatch):
    fill(tmp_path, a="old", b="old")
    rename = Path.rename

    def refused(self, target):
        if self == tmp_path / "b":
            raise PermissionError(errno.EPERM, "not permitted", str(self), None, str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OutputError) as error, atomic_folder(tmp_path, force=True) as part:
        fill(part, a="new", b="new")
    says(error, tmp_path, "you may not write there")
    assert tree(tmp_path) == {"a": b"old", "b": b"old"}


def test_a_file_is_kept_if_asked(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError) as error:
        atomic_write(path, lambda file: pytest.fail("nothing to write"), force=False)
    says(error, path, "--force", "force=True")
    assert tree(tmp_path) == {"a.txt": b"old"}


def test_a_file_that_came_in_the_meantime_is_kept(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(FileExistsError):
        atomic_write(path, lambda file: path.write_bytes(b"theirs"), force=False)
    assert tree(tmp_path) == {"a.txt": b"theirs"}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    path, usual = tmp_path / "a.txt", tmp_path / "usual"
    usual.write_bytes(b"")
    atomic_write(path, lambda file: file.write(b"one"))
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    atomic_write(path, lambda file: file.write(b"two"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links and devices are POSIX's")
def test_links_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "a.txt", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    atomic_write(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    atomic_write(os.devnull, lambda file: file.write(b"gone"))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


# ---- a folder -----------------------------------------------------------------------------------


def fill(folder, **contents):
    for name, text in contents.items():
        (folder / name).write_text(text)


def build(out, work, **options):
    with atomic_folder(out, **options) as folder:
        work(folder)


def test_a_folder_appears_at_the_end(tmp_path):
    out = tmp_path / "deep" / "down" / "out"
    with atomic_folder(out) as folder:
        fill(folder, a="1", b="2")
        (folder / "sub").mkdir()
        fill(folder / "sub", c="3")
        assert not (tmp_path / "deep").exists()
    assert tree(out) == {"a": b"1", "b": b"2", "sub": None, "sub/c": b"3"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["deep"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_new_folder_has_the_usual_permissions(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        fill(folder, a="1")
    (tmp_path / "usual").mkdir()
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_an_empty_folder_can_be_filled(tmp_path):
    # As can one that a killed run has left something in.
    (tmp_path / f"{_atomic.PREFIX}0{_atomic.SUFFIX}").mkdir()
    with atomic_folder(tmp_path) as folder:
        fill(folder, a="1")
    assert (tmp_path / "a").read_text() == "1"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_block_leaves_what_was_there(failure, force, tmp_path):
    out = tmp_path / "out"
    if force:
        out.mkdir()
        fill(out, a="old")
    before = tree(tmp_path)

    def work(folder):
        fill(folder, a="new", b="new")
        raise failure

    with pytest.raises(failure):
        build(out, work, force=force)
    assert tree(tmp_path) == before


def test_results_are_not_overwritten_unless_asked(tmp_path):
    fill(tmp_path, a="old", b="old")
    with pytest.raises(FileExistsError) as error, atomic_folder(tmp_path):
        pytest.fail("the block must not be run: it may take an hour")
    says(error, tmp_path, "already holds a and 1 more", "--force")
    assert tree(tmp_path) == {"a": b"old", "b": b"old"}


def test_results_that_came_in_the_meantime_are_kept(tmp_path):
    out = tmp_path / "out"

    def work(folder):
        fill(folder, a="ours")
        out.mkdir()
        fill(out, a="theirs")

    with pytest.raises(FileExistsError):
        build(out, work)
    assert tree(tmp_path) == {"out": None, "out/a": b"theirs"}


def test_force_replaces_results_and_nothing_else(tmp_path):
    fill(tmp_path, a="old", data="mine")
    with atomic_folder(tmp_path, force=True) as folder:
        fill(folder, a="new", b="new")
    assert tree(tmp_path) == {"a": b"new", "b": b"new", "data": b"mine"}


def test_names_say_what_a_result_is(tmp_path):
    names = ["scores.csv", "scores.parquet", "summary"]
    fill(tmp_path, data="mine")
    with atomic_folder(tmp_path, names=names) as folder:
        fill(folder, **{"scores.csv": "1", "summary": "1"})
    with (
        pytest.raises(FileExistsError, match=r"holds scores\.csv and 1 more"),
        atomic_folder(tmp_path, names=names),
    ):
        pytest.fail("the block must not be run")
    with atomic_folder(tmp_path, force=True, names=names) as folder:
        fill(folder, **{"scores.parquet": "2", "summary": "2"})
    # No old scores beside the new ones.
    assert tree(tmp_path) == {"data": b"mine", "scores.parquet": b"2", "summary": b"2"}


@pytest.mark.parametrize("where", ["block", "flush", "move"])
def test_a_full_disk_leaves_the_old_results(where, tmp_path, monkeypatch):
    fill(tmp_path, a="old", b="old", other="mine")
    before = tree(tmp_path)
    if where == "flush":
        monkeypatch.setattr(os, "fsync", full)
    if where == "move":
        rename, count = Path.rename, iter(range(100))
        monkeypatch.setattr(
            Path, "rename", lambda a, b: full() if next(count) == 3 else rename(a, b)
        )

    def work(folder):
        fill(folder, a="new", b="new", c="new")
        if where == "block":
            full()

    with pytest.raises(OutputError) as error:
        build(tmp_path, work, force=True)
    says(error, tmp_path, "the disk is full")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_no_permission_is_said_before_the_work(number, tmp_path, monkeypatch):
    fill(tmp_path, a="old")
    forbid(monkeypatch, tmp_path, number)
    for out in (tmp_path, tmp_path / "new", tmp_path / "new" / "er"):
        with pytest.raises(OutputError) as error, atomic_folder(out, force=True):
            pytest.fail("the block must not be run")
        says(error, f"could not write {out}:", "Choose")
    assert tree(tmp_path) == {"a": b"old"}


def test_a_file_is_no_folder(tmp_path):
    fill(tmp_path, a="old")
    for out, reason in [(tmp_path / "a", "it is a file"), (tmp_path / "a" / "b", "is a file")]:
        with pytest.raises(OutputError) as error, atomic_folder(out, force=True):
            pytest.fail("the block must not be run")
        says(error, out, reason)
    assert tree(tmp_path) == {"a": b"old"}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_no_result_and_the_old_one(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    fill(out, a="old")
    code = """
        import os, signal, sys
        from torpca._atomic import atomic_folder, atomic_write
        for out in sys.argv[1:]:
            if os.fork() == 0:
                with atomic_folder(out, force=True) as folder:
                    (folder / "a").write_text("half")
                    atomic_write(folder / "b", lambda file: os.kill(os.getpid(), signal.SIGKILL))
            assert os.WIFSIGNALED(os.wait()[1])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(out), str(tmp_path / "other")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, check=True, env=environment)

    def seen(folder):  # all but hidden folders that say that they are not finished
        return {n: c for n, c in tree(folder).items() if _atomic.SUFFIX not in n}

    assert seen(tmp_path) == {"out": None, "out/a": b"old"}
    # And the next run is not hindered.
    with atomic_folder(tmp_path / "other") as folder:
        fill(folder, a="new")
    assert (tmp_path / "other" / "a").read_text() == "new"
