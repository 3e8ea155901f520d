"""A cluster that a run starts itself: out of others' reach, with keys that travel as paths only, ended by Ctrl-C."""

import json
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import ray as scale
from cipherloom.ray._work import Errand
from conftest import listeners, write

MB = 1 << 20
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
    key.write(tmp_path / "key.age", passphrase="a passphrase")
    (tmp_path / "passphrase").write_text("a passphrase\n")
    file = scale.KeyFile(tmp_path / "key.age", passphrase_file=tmp_path / "passphrase")
    assert scale.verify(tmp_path / "out", file, manifest=tmp_path / "seen").files == 1
    with pytest.raises(FileNotFoundError):
        scale.verify(tmp_path / "out", scale.KeyFile(tmp_path / "missing"), manifest=tmp_path / "no")
    with pytest.raises(TypeError):
        scale.encrypt(source, tmp_path / "out", "key")  # type: ignore[arg-type]


def test_ctrl_c_stops_and_a_later_run_goes_on(tmp_path: Path, key: cl.Keyset) -> None:
    source = write(tmp_path / "in", {"0/0": 32 * MB})
    for number in range(1, 60):
        os.link(source / "0/0", source / f"0/{number}")

    def send() -> None:
        while not any((tmp_path / "out").rglob("*/*")):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    sender = threading.Thread(target=send)
    with pytest.raises(KeyboardInterrupt):
        sender.start()
        scale.encrypt(source, tmp_path / "out", key, chunk_bytes=300 * MB)
    sender.join()
    sealed = list((tmp_path / "out").rglob("*/*"))
    assert 0 < len(sealed) < 60
    report = scale.encrypt(source, tmp_path / "out", key)
    assert report.files + report.skipped + report.recorded == 60
    assert cl.verify_tree(tmp_path / "out", key).files == 60
