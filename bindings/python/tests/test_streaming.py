"""StreamingAead: every kind of buffer, both ways with Tink, every damage."""

import gc
import io
import mmap
import threading
from pathlib import Path

import cipherloom as cl
import numpy
import pytest
from conftest import content
from tink import json_proto_keyset_format, secret_key_access, streaming_aead

streaming_aead.register()

MB = 1 << 20


def tink_cipher(key: cl.Keyset) -> streaming_aead.StreamingAead:
    handle = json_proto_keyset_format.parse(key.to_json(), secret_key_access.TOKEN)
    return handle.primitive(streaming_aead.StreamingAead)


def tink_encrypt(key: cl.Keyset, data: bytes, aad: bytes) -> bytes:
    class Kept(io.BytesIO):
        def close(self) -> None:
            pass

    kept = Kept()
    with tink_cipher(key).new_encrypting_stream(kept, aad) as sealed:
        view = memoryview(data)
        while view:
            view = view[sealed.write(view[:MB]) :]
    return kept.getvalue()


def tink_decrypt(key: cl.Keyset, data: bytes, aad: bytes) -> bytes:
    with tink_cipher(key).new_decrypting_stream(io.BytesIO(data), aad) as opened:
        return opened.read()


@pytest.mark.parametrize("template", cl.TEMPLATES)
@pytest.mark.parametrize("size", [0, 1, 4055, 4056, 4057, 70_000, MB - 56, MB, 3 * MB + 7])
def test_both_ways_with_tink(template: str, size: int) -> None:
    key = cl.Keyset.generate(template)
    data = content(template, size)[:size]
    box = cl.StreamingAead(key)
    assert tink_decrypt(key, box.encrypt(data, b"bound"), b"bound") == data
    assert box.decrypt(tink_encrypt(key, data, b"bound"), b"bound") == data


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("template", ["AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB"])
def test_large_data_on_several_threads(template: str, threads: int) -> None:
    key = cl.Keyset.generate(template)
    data = content("large", 21 * MB + 3)[: 21 * MB + 3]
    ciphertext = cl.StreamingAead(key, threads=threads).encrypt(data)
    assert cl.StreamingAead(key, threads=4 - threads).decrypt(ciphertext) == data
    assert tink_decrypt(key, ciphertext, b"") == data


def test_every_kind_of_buffer(key: cl.Keyset, tmp_path: Path) -> None:
    data = content("buffers", 80_000)[:80_000]
    box = cl.StreamingAead(key)
    (tmp_path / "mapped").write_bytes(data)
    with open(tmp_path / "mapped", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        array = numpy.frombuffer(data, dtype=numpy.uint8)
        for buffer in (
            data,
            bytearray(data),
            memoryview(data),
            mapped,
            array,
            array.view(numpy.float64),
            array.reshape(100, 800),
            array.view(">i4"),
            memoryview(data).cast("d"),
        ):
            ciphertext = box.encrypt(buffer, associated_data=b"x")
            assert isinstance(ciphertext, bytes)
            assert box.decrypt(ciphertext, associated_data=b"x") == data
        sealed = box.encrypt(data)
        for buffer in (bytearray(sealed), memoryview(sealed), numpy.frombuffer(sealed, dtype=numpy.uint8)):
            assert box.decrypt(buffer) == data
    assert box.decrypt(box.encrypt(numpy.zeros((0, 3)))) == b""
    assert box.decrypt(box.encrypt(data[5:77_777])) == data[5:77_777]
    assert box.decrypt(box.encrypt(memoryview(data)[5:77_777])) == data[5:77_777]


def test_buffers_that_are_none(key: cl.Keyset) -> None:
    box = cl.StreamingAead(key)
    for wrong in ("text", 3, None, [1, 2], object()):
        with pytest.raises(TypeError):
            box.encrypt(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            box.decrypt(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        box.encrypt(b"", associated_data="text")  # type: ignore[arg-type]
    with pytest.raises(BufferError):
        box.encrypt(memoryview(bytes(100))[::2])
    with pytest.raises(BufferError):
        box.encrypt(numpy.zeros((10, 10))[:, 3])
    with pytest.raises(TypeError):
        cl.StreamingAead("key")  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        cl.StreamingAead(key, threads=0)


def test_a_buffer_is_held_only_while_it_is_read(key: cl.Keyset) -> None:
    data = bytearray(5 * MB)
    cl.StreamingAead(key).encrypt(data)
    gc.collect()
    data.clear()
    assert len(data) == 0


@pytest.mark.parametrize("template", ["AES256_GCM_HKDF_1MB", "AES128_GCM_HKDF_4KB", "AES256_CTR_HMAC_SHA256_4KB"])
@pytest.mark.parametrize("size", [0, 10, 3 * MB])
def test_damage_is_found(template: str, size: int) -> None:
    key = cl.Keyset.generate(template)
    box = cl.StreamingAead(key)
    sealed = box.encrypt(content("damage", size)[:size], b"aad")
    for position in {0, 1, 20, 39, 40, len(sealed) // 2, len(sealed) - 1}:
        damaged = bytearray(sealed)
        damaged[position % len(sealed)] ^= 1
        with pytest.raises(cl.InvalidTag):
            box.decrypt(damaged, b"aad")
    for cut in {0, 1, 39, 4096, MB, len(sealed) - 1} - {len(sealed)}:
        with pytest.raises(cl.InvalidTag):
            box.decrypt(sealed[: min(cut, len(sealed) - 1)], b"aad")
    with pytest.raises(cl.InvalidTag):
        box.decrypt(sealed + b"x", b"aad")
    with pytest.raises(cl.InvalidTag):
        box.decrypt(sealed, b"other")
    with pytest.raises(cl.InvalidTag):
        box.decrypt(sealed)
    with pytest.raises(cl.InvalidTag, match="the key is another one"):
        cl.StreamingAead(cl.Keyset.generate(template)).decrypt(sealed, b"aad")


def test_a_keyset_of_several_keys_opens_what_either_sealed() -> None:
    import json

    old, new = cl.Keyset.generate("AES128_GCM_HKDF_4KB"), cl.Keyset.generate("AES256_GCM_HKDF_1MB")
    both = json.loads(new.to_json())
    both["key"] += json.loads(old.to_json())["key"]
    keys = cl.Keyset.from_json(json.dumps(both))
    assert keys.primary_id == new.primary_id and set(keys.key_ids) == {new.primary_id, old.primary_id}
    for single in (old, new):
        for size in (0, 5, 2 * MB):
            sealed = cl.StreamingAead(single).encrypt(bytes(size), b"a")
            assert cl.StreamingAead(keys).decrypt(sealed, b"a") == bytes(size)
    assert cl.StreamingAead(new).decrypt(cl.StreamingAead(keys).encrypt(b"x")) == b"x"


def test_the_interpreter_runs_on(key: cl.Keyset) -> None:
    """Another thread gets the interpreter while a large buffer is encrypted."""
    box = cl.StreamingAead(key, threads=1)
    data = bytes(48 * MB)
    box.encrypt(data)
    turns, is_over = [0], threading.Event()

    def count() -> None:
        while not is_over.is_set():
            turns[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        while not turns[0]:
            pass
        before = turns[0]
        box.encrypt(data)
        during = turns[0] - before
    finally:
        is_over.set()
        counter.join()
    assert during > 0


def test_the_former_keyword_works_with_a_warning(key: cl.Keyset) -> None:
    box = cl.StreamingAead(key)
    with pytest.warns(DeprecationWarning, match="associated_data") as warned:
        sealed = box.encrypt(b"text", aad=b"bound")
        assert box.decrypt(sealed, aad=b"bound") == b"text"
    assert {str(warning.filename) for warning in warned} == {__file__}
    assert box.decrypt(sealed, b"bound") == box.decrypt(sealed, associated_data=b"bound") == b"text"
    with pytest.raises(TypeError, match="one of them"):
        box.encrypt(b"text", b"bound", aad=b"bound")
