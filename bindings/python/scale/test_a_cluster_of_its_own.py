"""A cluster that a run starts itself: out of others' reach, with keys that travel as paths only.

A process is part of one cluster at a time: these tests run before the one that the others share has been started.
"""

import json
import os
import pickle
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import ray as scale
from cipherloom.ray._work import Errand
from conftest import listeners, write

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def test_keys_never_travel_in_clear(tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    source = write(tmp_path / "in", {"one": 10})
    secret = json.loads(key.to_json())["key"][0]["keyData"]["value"].encode()
    with pytest.raises(TypeError):
        pickle.dumps(key)
    sent: list[bytes] = []
    put = ray.put

    def seen(value: object) -> object:
        assert isinstance(value, Errand)
        sent.append(pickle.dumps(value))
        logs = Path(ray._private.worker.global_worker.node.get_session_dir_path())
        sent.extend(path.read_bytes() for path in logs.rglob("*") if path.is_file())
        assert listeners() <= LOOPBACK, "nobody else reaches the cluster"
        return put(value)

    monkeypatch.setattr(ray, "put", seen)
    scale.encrypt(source, tmp_path / "out", key)
    assert len(sent) > 5 and not any(secret in text for text in sent)
    kept = [name for name in os.listdir("/dev/shm") if name.startswith("cipherloom-")]
    assert kept == [], "the private file is gone"
    assert not ray.is_initialized(), "the cluster has ended with the run"
    with pytest.raises(FileNotFoundError):
        scale.verify(tmp_path / "out", scale.KeyFile(tmp_path / "missing"), manifest=tmp_path / "no")
    with pytest.raises(TypeError):
        scale.encrypt(source, tmp_path / "out", "key")  # type: ignore[arg-type]
