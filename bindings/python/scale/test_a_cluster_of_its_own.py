"""A cluster that a run starts itself: out of others' reach, with keys that travel as paths only.

A process is part of one cluster at a time: these tests run before the one that the others share has been started.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import ray as scale
from cipherloom.ray._work import Job
from conftest import listeners, write

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


STRANGER = """
import os, sys
from ray._raylet import GcsClient
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
GcsClient(address=sys.argv[1]).internal_kv_put(b"name", b"value", True, b"fun")
"""
"""Writes where the cluster keeps the functions that its workers run."""


def test_no_other_user_of_the_machine_gets_in(
    tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    # Whatever the user has set for other clusters.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    source, said = write(tmp_path / "in", {"one": 10}), []
    put = ray.put

    def seen(value: object) -> object:
        address = ray.get_runtime_context().gcs_address
        others = {name: text for name, text in os.environ.items() if not name.startswith("RAY_AUTH_")}
        done = subprocess.run(
            [sys.executable, "-c", STRANGER, address], env=others, capture_output=True, text=True, timeout=120
        )
        said.append((done.returncode, done.stderr))
        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert (token.stat().st_mode & 0o777, token.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        return put(value)

    monkeypatch.setattr(ray, "put", seen)
    assert scale.encrypt(source, tmp_path / "out", key).failed == 0
    assert len(said) == 1 and said[0][0] == 1 and "AuthenticationError" in said[0][1], said
    assert os.environ["RAY_AUTH_MODE"] == "disabled" and "RAY_AUTH_TOKEN_PATH" not in os.environ


def in_memory() -> set[str]:
    """Key files in memory; the lab and other tests, which may run beside this one, have folders of such names there too."""
    return {str(path) for path in Path("/dev/shm").glob("cipherloom-*/key.json")}


def test_keys_never_travel_in_clear(tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    source, before = write(tmp_path / "in", {"one": 10}), in_memory()
    secret = json.loads(key.to_json())["key"][0]["keyData"]["value"].encode()
    with pytest.raises(TypeError):
        pickle.dumps(key)
    sent: list[bytes] = []
    put = ray.put

    def seen(value: object) -> object:
        assert isinstance(value, Job)
        sent.append(pickle.dumps(value))
        logs = Path(ray._private.worker.global_worker.node.get_session_dir_path())
        sent.extend(path.read_bytes() for path in logs.rglob("*") if path.is_file())
        assert listeners() <= LOOPBACK, "nobody else reaches the cluster"
        return put(value)

    monkeypatch.setattr(ray, "put", seen)
    scale.encrypt(source, tmp_path / "out", key)
    assert len(sent) > 5 and not any(secret in text for text in sent)
    assert in_memory() <= before, "the private file is gone"
    assert not ray.is_initialized(), "the cluster has ended with the run"
    with pytest.raises(FileNotFoundError):
        scale.verify(tmp_path / "out", scale.KeyFile(tmp_path / "missing"))
    with pytest.raises(TypeError):
        scale.encrypt(source, tmp_path / "out", "key")  # type: ignore[arg-type]
