"""Streams over file objects, both ways with Tink, and files opened for writing."""

import gc
import io
import os
import shutil
from pathlib import Path
from typing import Any

import cipherloom as cl
import pytest
from conftest import content
from test_streaming import MB, tink_decrypt, tink_encrypt


class Kept(io.BytesIO):
    """Keeps its content when it is closed."""

    content = b""

    def close(self) -> None:
        if not self.closed:
            self.content = self.getvalue()
        super().close()


@pytest.mark.parametrize("template", cl.TEMPLATES)
@pytest.mark.parametrize("size", [0, 1, 4055, 4056, 4057, 70_000, MB - 56, 3 * MB + 7])
def test_both_ways_with_tink(template: str, size: int) -> None:
    key = cl.Keyset.generate(template)
    data, aead = content(template, size)[:size], cl.StreamingAead(key)
    kept = Kept()
    with aead.new_encrypting_stream(kept, b"bound") as stream:
        assert stream.writable() and not stream.readable() and not stream.seekable()
        for start in range(0, size, 99_991):
            part = data[start : start + 99_991]
            assert stream.write(memoryview(part)) == len(part)
    assert kept.closed and stream.closed
    assert tink_decrypt(key, kept.content, b"bound") == data
    assert aead.decrypt(kept.content, b"bound") == data
    source = io.BytesIO(tink_encrypt(key, data, b"bound"))
    with aead.new_decrypting_stream(source, b"bound") as opened:
        assert opened.readable() and not opened.writable() and not opened.seekable()
        assert opened.read(10) == data[:10]
        assert opened.read() == data[10:] and opened.read() == b""
    assert source.closed
    with aead.new_decrypting_stream(io.BytesIO(kept.content), b"bound") as opened:
        copied = io.BytesIO()
        shutil.copyfileobj(opened, copied)
    assert copied.getvalue() == data


def test_text_and_file_objects_of_every_kind(key: cl.Keyset, tmp_path: Path) -> None:
    aead = cl.StreamingAead(key)
    with io.TextIOWrapper(aead.new_encrypting_stream(open(tmp_path / "text", "wb")), "utf-8") as text:
        text.writelines(f"zażółć {number}\n" for number in range(50_000))
    with io.TextIOWrapper(aead.new_decrypting_stream(open(tmp_path / "text", "rb")), "utf-8") as text:
        assert [line.split()[1] for line in text] == [str(number) for number in range(50_000)]

    class Slow(io.RawIOBase):
        """Takes and gives a few bytes at a time."""

        def __init__(self, given: bytes = b"") -> None:
            self.content = bytearray(given)

        def readable(self) -> bool:
            return True

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.content += data[:70_001]
            return min(len(data), 70_001)

        def read(self, size: int = -1) -> bytes:
            given = bytes(self.content[: min(size, 70_001)])
            del self.content[: len(given)]
            return given

    slow = Slow()
    data = content("slow", 2 * MB)[: 2 * MB]
    with aead.new_encrypting_stream(slow) as stream:  # type: ignore[arg-type]
        stream.write(data)
    assert aead.decrypt(slow.content) == data
    with aead.new_decrypting_stream(Slow(bytes(slow.content))) as opened:  # type: ignore[arg-type]
        assert opened.read() == data


def test_what_a_file_object_raises_comes_through(key: cl.Keyset) -> None:
    aead = cl.StreamingAead(key)

    class Broken(io.BytesIO):
        def write(self, data: Any) -> int:
            raise ZeroDivisionError("no room")

        def read(self, size: int | None = -1) -> bytes:
            raise ZeroDivisionError("no bytes")

    class Greedy(io.BytesIO):
        def write(self, data: Any) -> int:
            return len(data) + 1

        def read(self, size: int | None = -1) -> bytes:
            return bytes((size or 0) + 1)

    with pytest.raises(ZeroDivisionError, match="no room"), aead.new_encrypting_stream(Broken()) as stream:
        stream.write(bytes(3 * MB))
    with pytest.raises(ZeroDivisionError, match="no bytes"):
        aead.new_decrypting_stream(Broken())
    with pytest.raises(OSError, match="more than it was given"), aead.new_encrypting_stream(Greedy()) as stream:
        stream.write(bytes(3 * MB))
    with pytest.raises(OSError, match="more than it was asked for"):
        aead.new_decrypting_stream(Greedy())
    with open(os.devnull, "rb") as source, pytest.raises(ValueError, match="writable"):
        aead.new_encrypting_stream(source)
    with open(os.devnull, "wb") as target, pytest.raises(ValueError, match="readable"):
        aead.new_decrypting_stream(target)
    stream = aead.new_encrypting_stream(io.BytesIO())
    with pytest.raises(TypeError):
        stream.write("text")  # type: ignore[arg-type]
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.write(b"late")


def test_an_exception_leaves_a_stream_without_its_end(key: cl.Keyset) -> None:
    aead, kept = cl.StreamingAead(key), Kept()
    with pytest.raises(ZeroDivisionError), aead.new_encrypting_stream(kept) as stream:
        stream.write(bytes(5 * MB))
        raise ZeroDivisionError
    assert kept.closed and stream.closed
    with pytest.raises(cl.InvalidTag):
        aead.decrypt(kept.content)


@pytest.mark.parametrize("template", ["AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB"])
def test_damage_and_truncation_are_found(template: str) -> None:
    aead = cl.StreamingAead(cl.Keyset.generate(template))
    data = content("damage", 3 * MB)[: 3 * MB]
    sealed = aead.encrypt(data, b"bound")
    damaged = bytearray(sealed)
    damaged[2 * MB] ^= 1
    for bad in (damaged, sealed[:-1], sealed[: 2 * MB], sealed + b"x"):
        with pytest.raises(cl.InvalidTag), aead.new_decrypting_stream(io.BytesIO(bad), b"bound") as opened:
            got = b""
            while part := opened.read(100_000):
                got += part
                assert data.startswith(got), "what comes out is authentic"
    for bad in (b"", sealed[:20]):
        with pytest.raises(cl.InvalidTag):
            aead.new_decrypting_stream(io.BytesIO(bad), b"bound").read()
    with pytest.raises(cl.InvalidTag):
        aead.new_decrypting_stream(io.BytesIO(sealed), b"other").read()


def test_a_file_gets_its_name_when_it_is_closed(key: cl.Keyset, tmp_path: Path) -> None:
    path, data = tmp_path / "sealed", content("file", 3 * MB)[: 3 * MB]
    with cl.open(path, "wb", key, b"bound") as file:
        assert isinstance(file, io.RawIOBase) and file.writable()
        for start in range(0, len(data), 777_777):
            file.write(data[start : start + 777_777])
        assert not path.exists()
    assert tink_decrypt(key, path.read_bytes(), b"bound") == data
    with cl.open(path, "rb", key, b"bound") as opened:
        assert opened.read() == data
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), cl.open(path, "wb", key) as file:
        file.write(b"half")
        raise ZeroDivisionError
    # Nobody closes this one.
    cl.open(path, "wb", key).write(b"half")
    gc.collect()
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["sealed"]
    with cl.open(f"file://{path}", "wb", key) as file:
        file.write(b"new")
    with cl.open(path, "rb", key) as opened:
        assert opened.read() == b"new"
    file.close()


def test_a_file_is_created_once(key: cl.Keyset, tmp_path: Path) -> None:
    path = tmp_path / "sealed"
    with cl.open(path, "xb", key) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError) as raised:
        cl.open(path, "xb", key)
    assert raised.value.filename == str(path)
    other = tmp_path / "other"
    late = cl.open(other, "xb", key)
    other.write_bytes(b"another program's")
    with pytest.raises(FileExistsError):
        late.close()
    assert late.closed and other.read_bytes() == b"another program's"
    with pytest.raises(FileNotFoundError):
        cl.open(tmp_path / "missing" / "sealed", "wb", key)
    with pytest.raises(ValueError, match="mode"):
        cl.open(path, "ab", key)  # type: ignore[call-overload]
    with pytest.raises(cl.InvalidRequest, match="encrypt_tree"):
        cl.open("s3://bucket/object", "wb", key)
    assert sorted(os.listdir(tmp_path)) == ["other", "sealed"]
