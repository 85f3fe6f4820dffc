"""Zip archives: files in them are read in place, and what is unsafe or damaged is refused."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tallymark.io import archives
from tallymark.io.archives import BadArchive, file_status, is_file, is_folder, open_archive, open_file, read_bytes
from tallymark.io.windows import Spool

NOISE = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8).tobytes()
TEXT = b"wheat " * 10_000


def pack(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(f"train/{name}", data)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_in_place(method: int, tmp_path: Path) -> None:
    path = pack(tmp_path / "Train.ZIP", method, noise=NOISE, text=TEXT, empty=b"")
    assert read_bytes(path / "train" / "noise") == NOISE
    assert read_bytes(path / "train" / "empty") == b""
    assert file_status(path / "train" / "text") == (len(TEXT), path.stat().st_mtime_ns)
    with open_file(path / "train" / "noise") as file:
        assert file.seek(-10, os.SEEK_END) == len(NOISE) - 10
        assert file.read() == NOISE[-10:]
        file.seek(1000)
        assert file.read(5000) == NOISE[1000:6000]
    assert is_file(path / "train" / "noise")
    assert is_folder(path)
    assert is_folder(path / "train")
    assert not is_file(path / "train")
    assert not is_file(path / "train" / "other")
    with pytest.raises(FileNotFoundError):
        read_bytes(path / "train" / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["Train.ZIP"]


def test_a_folder_may_be_called_like_an_archive(tmp_path: Path) -> None:
    folder = tmp_path / "old.zip"
    folder.mkdir()
    (folder / "a").write_bytes(b"1")
    inner = pack(folder / "b.zip", a=b"2")
    assert read_bytes(folder / "a") == b"1"
    assert is_file(folder / "a")
    assert read_bytes(inner / "train" / "a") == b"2"


def test_threads_and_forks_share_an_archive(tmp_path: Path) -> None:
    members = {f"{number}": bytes([number]) * 3000 for number in range(40)}
    path = pack(tmp_path / "a.zip", **members)
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda name: read_bytes(path / "train" / name), members))
    assert read == list(members.values())
    child = os.fork()
    if not child:
        os._exit(0 if read_bytes(path / "train" / "7") == members["7"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_archive_that_is_replaced_is_opened_again(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", a=b"1")
    assert read_bytes(path / "train" / "a") == b"1"
    pack(path, a=b"22")
    assert read_bytes(path / "train" / "a") == b"22"


def test_large_members_are_spooled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "IN_MEMORY", 1000)
    monkeypatch.setattr(archives, "SPOOL", spool := Spool(100_000))
    path = pack(tmp_path / "a.zip", a=TEXT, b=NOISE)
    with open_file(path / "train" / "a") as first, open_file(path / "train" / "b") as second:
        assert len(spool._entries) == 1  # both are larger than the spool
        assert (first.read(), second.read()) == (TEXT, NOISE)
    monkeypatch.setattr(archives, "_expand", None)  # the second time it is there
    assert open_file(path / "train" / "b").read() == NOISE


def test_names_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name in ("test\\a.jpg", "été.jpg"):
            file.writestr(name, b"1")
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 9] = 0  # no longer says that the name is UTF-8
    path.write_bytes(data)
    assert set(open_archive(path).members) == {"test/a.jpg", "été.jpg"}


@pytest.mark.parametrize("name", ["/etc/passwd", "../a.jpg", "train/../../a.jpg", "C:\\a.jpg", "..\\a.jpg"])
def test_paths_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, b"1")
        file.writestr("b.jpg", b"2")
    archive = open_archive(path)
    assert set(archive.members) == {"b.jpg"}
    assert [reason for _, reason in archive.refused] == ["a path that leads out of the archive"]


def test_links_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("a.jpg")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(link, b"/etc/passwd")
    assert open_archive(path).refused == [("a.jpg", "a link")]


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def _encrypt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))


def _other_method(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 10] = 9
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda path: _flip(path, 5000), "damaged"),
        (lambda path: _flip(path, 0), "damaged"),
        (_encrypt, "encrypted"),
        (_other_method, "Deflate64"),
    ],
)
def test_members_that_cannot_be_read(spoil: Callable[[Path], None], found: str, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", a=NOISE, b=TEXT)
    spoil(path)
    with pytest.raises(BadArchive, match=found):
        read_bytes(path / "train" / "a")
    assert read_bytes(path / "train" / "b") == TEXT


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_files_of_one_name_the_last_counts_and_the_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("labels/a.txt", "earlier")
        archive.writestr("labels\\a.txt", "later")
    assert read_bytes(path / "labels" / "a.txt") == b"later"
    assert open_archive(path).refused == [("labels/a.txt", "an earlier file of the same name")]


def test_a_file_is_known_by_the_name_in_the_list(tmp_path: Path) -> None:
    """One bit of the name in front of it is wrong: its content is whole."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "content")
    path.write_bytes(path.read_bytes().replace(b"a.txt", b"b.txt", 1))
    assert read_bytes(path / "a.txt") == b"content"


@pytest.mark.parametrize("data", [b"", b"<html>log in</html>", NOISE])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(BadArchive, match="no list of files"):
        open_archive(path)
    assert not is_file(path / "a")


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(tmp_path / "a.zip", zeros=bytes(1 << 20), text=TEXT)
    monkeypatch.setattr(archives, "RATIO_FROM", 1 << 19)
    with pytest.raises(BadArchive, match="1048576 bytes, packed into"):
        read_bytes(path / "train" / "zeros")
    monkeypatch.setattr(archives, "LARGEST_MEMBER", 1000)
    with pytest.raises(BadArchive, match="packed into"):
        open_file(path / "train" / "text")
    liar = pack(tmp_path / "b.zip", text=TEXT)
    data = liar.read_bytes()
    liar.write_bytes(data.replace(len(TEXT).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(BadArchive, match="damaged"):
        read_bytes(liar / "train" / "text")
    monkeypatch.setattr(archives, "MOST_MEMBERS", 1)
    with pytest.raises(BadArchive, match="2 files"):
        open_archive(pack(tmp_path / "c.zip", a=b"", b=b""))


def test_members_that_share_bytes_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", a=NOISE, b=NOISE)
    data = path.read_bytes()
    second = data.rindex(b"PK\x01\x02") + 42
    path.write_bytes(data[:second] + bytes(4) + data[second + 4 :])
    with pytest.raises(BadArchive, match="share bytes"):
        open_archive(path)


def test_damage_anywhere_is_an_os_error(tmp_path: Path) -> None:
    whole = pack(tmp_path / "whole.zip", a=NOISE[:300], b=TEXT[:3000]).read_bytes()
    rng = np.random.default_rng(1)
    path = tmp_path / "a.zip"
    for number in range(300):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), int(rng.integers(1, 4))):
            data[at] = rng.integers(256)
        path.write_bytes(data[: int(rng.integers(1, len(data) + 1))] if number % 4 == 0 else data)
        os.utime(path, ns=(number, number))
        with suppress(OSError):
            for name in open_archive(path).members:
                with suppress(OSError):
                    assert read_bytes(path / name) in (NOISE[:300], TEXT[:3000], b"")


MANY = """
import resource, sys
from tallymark.io.archives import read_bytes
resource.setrlimit(resource.RLIMIT_NOFILE, (150, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(sum(len(read_bytes(f"{sys.argv[1]}/{at}.zip/a.txt")) for at in range(200)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of open files of Linux")
def test_hundreds_of_archives_may_be_open(tmp_path: Path) -> None:
    for at in range(200):
        with zipfile.ZipFile(tmp_path / f"{at}.zip", "w") as archive:
            archive.writestr("a.txt", "content")
    done = subprocess.run([sys.executable, "-c", MANY, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.strip() == str(200 * len("content")), done.stderr


def test_files_of_data_sets_are_opened_in_one_place() -> None:
    """Anything else would not find files in archives, and would wait for pipes."""
    package = Path(archives.__file__).parent.parent
    own = {package / "io" / "archives.py", package / "io" / "regular.py"}
    own.add(package / "reporting" / "scripts.py")  # it reads the scripts of pages, which are a part of the package
    opens = re.compile(r"\.read_bytes\(\)|\.read_text\(|\.open\(\"rb|imread|fromfile|Image\.open\(path|SoundFile\(str")
    layers = ("io", "data", "datasets", "formats", "modalities", "drawing", "reporting", "challenges")
    found = {
        f"{path.relative_to(package)}: {line.strip()}"
        for layer in layers
        for path in sorted((package / layer).rglob("*.py"))
        for line in path.read_text().splitlines()
        if path not in own and opens.search(line)
    }
    assert not found


def test_a_disk_that_cannot_be_read_is_no_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("a.txt", "text")

    def fail(file: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(zipfile, "_EndRecData", fail)
    with pytest.raises(OSError, match="Input/output error"):
        open_archive(str(tmp_path / "a.zip"))
