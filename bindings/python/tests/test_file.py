"""An encrypted file as a file."""

import io
import os
import random
from pathlib import Path

import cipherloom as cl
import pytest
from conftest import content

SIZE = 3_300_000


@pytest.fixture(params=["AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB"])
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, cl.Keyset, bytes]:
    key = cl.Keyset.generate(request.param)
    data = content("random access", SIZE)[:SIZE]
    path = tmp_path / "sealed"
    path.write_bytes(cl.StreamingAead(key).encrypt(data, b"bound"))
    return path, key, data


def test_reads_anywhere(sealed: tuple[Path, cl.Keyset, bytes]) -> None:
    path, key, data = sealed
    chance = random.Random(5)
    for buffering in (-1, 0, 100_000):
        with cl.open(path, "rb", key, b"bound", buffering=buffering) as file:
            twin = io.BytesIO(data)
            for _ in range(60):
                place, length = chance.randrange(SIZE + 10), chance.choice([0, 1, 4096, 70_000])
                assert file.seek(place) == twin.seek(place)
                got = file.read(length)
                # A raw file may give less, but something.
                assert got is not None and got == twin.read(len(got)) and (len(got) == length or buffering == 0 or place + length > SIZE)
                assert file.tell() == place + len(got)
            assert file.seek(-10, os.SEEK_END) == SIZE - 10
            assert file.read() == data[-10:]
            assert file.read() == b""
            assert file.seek(0) == 0 and file.seek(5, os.SEEK_CUR) == 5


def test_is_file_like(sealed: tuple[Path, cl.Keyset, bytes]) -> None:
    path, key, data = sealed
    with cl.open(os.fspath(path), key=key, associated_data=bytearray(b"bound")) as file:
        assert isinstance(file, io.BufferedReader)
        assert file.readable() and file.seekable() and not file.writable()
        assert file.name == str(path) and file.mode == "rb"
        assert file.read() == data
        with pytest.raises(ValueError):
            file.seek(-1)
        with pytest.raises(ValueError):
            file.seek(0, 9)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError, match="closed"):
        file.read()
    with cl.open(path, "rb", key, b"bound", buffering=0) as raw:
        target = bytearray(10)
        assert raw.readinto(memoryview(target).cast("H")) == 10 and target == data[:10]
    with pytest.raises(ValueError, match="closed"):
        raw.read()


def test_an_empty_file(key: cl.Keyset, tmp_path: Path) -> None:
    (tmp_path / "sealed").write_bytes(cl.StreamingAead(key).encrypt(b""))
    with cl.open(tmp_path / "sealed", "rb", key) as file:
        assert file.read() == b"" and file.seek(0, os.SEEK_END) == 0


def test_refuses(sealed: tuple[Path, cl.Keyset, bytes], tmp_path: Path) -> None:
    path, key, data = sealed
    with pytest.raises(cl.InvalidTag) as raised:
        cl.open(path, "rb", key)
    assert str(path) in str(raised.value)
    with pytest.raises(cl.InvalidTag):
        cl.open(path, "rb", cl.Keyset.generate(), b"bound")
    with pytest.raises(FileNotFoundError) as missing:
        cl.open(tmp_path / "missing", "rb", key)
    assert missing.value.filename == str(tmp_path / "missing")
    for wrong in (lambda: cl.open(3, "rb", key), lambda: cl.open(path, "rb", "key"), lambda: cl.open(path, "rb", key, "text")):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            wrong()
    sealed_bytes = path.read_bytes()
    (tmp_path / "cut").write_bytes(sealed_bytes[:-1])
    with pytest.raises(cl.InvalidTag):
        cl.open(tmp_path / "cut", "rb", key, b"bound")
    damaged = bytearray(sealed_bytes)
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    with cl.open(tmp_path / "damaged", "rb", key, b"bound") as file:
        assert file.read(100) == data[:100]
        with pytest.raises(cl.InvalidTag, match="is damaged"):
            file.read()


def test_former_spellings_work_with_a_warning(sealed: tuple[Path, cl.Keyset, bytes]) -> None:
    path, key, data = sealed
    with pytest.warns(DeprecationWarning, match='is now open\\(path, "rb", key\\)'), cl.open(path, key, b"bound") as file:
        assert file.read(5) == data[:5]
    with pytest.warns(DeprecationWarning, match="associated_data"), cl.open(path, key=key, aad=b"bound") as file:
        assert file.read(5) == data[:5]
    with pytest.warns(DeprecationWarning) as warned, cl.open(path, key, aad=b"bound") as file:
        assert file.read(5) == data[:5]
    assert {str(warning.filename) for warning in warned} == {__file__}
    with pytest.raises(TypeError, match="one of them"):
        cl.open(path, "rb", key, b"bound", aad=b"bound")
    with pytest.raises(TypeError, match="key is a cipherloom.Keyset"):
        cl.open(path)
