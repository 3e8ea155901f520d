"""Azure Blob Storage, over Azurite: the same promises where conditions and uploads work differently."""

import json

import pytest
import stores
import tool

FILES = {"empty": 0, "one": 1, "deep/er/chapter.xhtml": 5_000, "large.bin": 21_000_000}


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
    with stores.azurite(tmp_path_factory.mktemp("azure")) as environment:

        def run(*arguments, code=tool.DONE, **changes):
            return tool.run(*arguments, code=code, env=environment | changes)

        run.address = environment["AZURITE_BLOB_STORAGE_URL"]
        yield run


def test_round_trip_created_once_resumed_and_rekeyed(azure, tmp_path):
    plain, key, new = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key"), tool.keygen(tmp_path / "new")
    azure("encrypt", plain, "az://box/sealed", "--key", key)
    done = azure("encrypt", plain, "az://box/sealed", "--key", key, code=tool.FAILED)
    assert tool.message(done).count("the output exists already") == len(FILES)
    done = azure("encrypt", plain, "az://box/sealed", "--key", key, "--if-exists", "skip", "--json")
    assert json.loads(done.stdout.splitlines()[-1])["skipped"] == len(FILES)
    azure("rekey", "az://box/sealed", "az://box/sealed", "--key", key, "--to", new, "--if-exists", "overwrite")
    done = azure("verify", "az://box/sealed", "--key", new, "--json")
    # Nothing temporary is left beside them.
    assert json.loads(done.stdout.splitlines()[-1])["files"] == len(FILES)
    azure("decrypt", "az://box/sealed", tmp_path / "back", "--key", new)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)
    azure("decrypt", "az://box/sealed", "az://box/sealed", "--key", new, code=tool.USAGE)


def test_an_index_is_written_on_condition(azure, tmp_path):
    plain, key = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key")
    encrypt = ["encrypt", plain, "az://box/indexed", "--key", key, "--index", "--if-exists", "skip", "--json"]
    for generation in (1, 2, 3):
        done = azure(*encrypt)
        assert json.loads(done.stdout.splitlines()[-1])["index"]["generation"] == generation
    for flags in ([], ["--quick"]):
        done = azure("verify", "az://box/indexed", "--key", key, "--json", *flags)
        counts = json.loads(done.stdout.splitlines()[-1])
        assert (counts["files"], counts["index"]["missing"], counts["index"]["extra"]) == (len(FILES), 0, 0)
    azure("decrypt", "az://box/indexed", tmp_path / "back", "--key", key, "--only", "deep/**")
    assert set(tool.read_tree(tmp_path / "back")) == {b"deep/er/chapter.xhtml"}


def test_an_index_is_rekeyed(azure, tmp_path):
    plain, key, new = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key"), tool.keygen(tmp_path / "new")
    azure("encrypt", plain, "az://box/indexed-1", "--key", key, "--index")
    in_place = ["rekey", "az://box/indexed-1", "az://box/indexed-1", "--key", key, "--to", new, "--if-exists", "overwrite"]
    elsewhere = ["rekey", "az://box/indexed-1", "az://box/indexed-2", "--key", new, "--to", key, "--if-exists", "skip"]
    for command, place, its_key in ((in_place, "az://box/indexed-1", new), (elsewhere, "az://box/indexed-2", key)):
        azure(*command)
        azure("verify", place, "--key", its_key)
        done = azure(*command, "--json")
        assert json.loads(done.stdout.splitlines()[-1])["skipped"] == len(FILES)
        done = azure("sync", plain, place, "--key", its_key, "--json")
        assert json.loads(done.stdout.splitlines()[-1])["sync"]["unchanged"] == len(FILES)


def test_a_tree_is_synchronized_on_condition(azure, tmp_path):
    plain, key = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key")
    sync = ["sync", plain, "az://box/synced", "--key", key, "--delete", "--json"]
    for expected in ({"new": len(FILES)}, {"unchanged": len(FILES)}):
        counts = json.loads(azure(*sync).stdout.splitlines()[-1])
        assert {name: counts["sync"][name] for name in expected} == expected and counts["index"]["generation"] == 1
    (plain / "one").write_bytes(b"2")
    (plain / "large.bin").write_bytes(tool.content(20_000_000, 7))
    (plain / "empty").unlink()
    counts = json.loads(azure(*sync).stdout.splitlines()[-1])["sync"]
    assert (counts["changed"], counts["removed"], counts["unchanged"]) == (2, 1, len(FILES) - 3)
    done = azure("verify", "az://box/synced", "--key", key, "--json")
    counts = json.loads(done.stdout.splitlines()[-1])
    assert (counts["files"], counts["index"]["missing"], counts["index"]["extra"]) == (len(FILES) - 1, 0, 0)
    azure("decrypt", "az://box/synced", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


@pytest.mark.parametrize("name", ["one", "large.bin"])
def test_what_another_writer_has_replaced_is_not_overwritten(azure, tmp_path, name):
    plain, key = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key")
    place = f"az://box/replaced-{name}"
    azure("sync", plain, place, "--key", key)
    other = tool.write_tree(tmp_path / "other", {name: FILES[name]})
    (plain / name).write_bytes(tool.content(FILES[name] + 9, 7))
    written = []

    def rule(request):
        if request.method == "PUT" and request.path.endswith(f"replaced-{name}/{name}") and not written:
            written.append(azure("encrypt", other, place, "--key", key, "--if-exists", "overwrite"))

    with stores.Proxy(int(azure.address.rpartition(":")[2]), rule).running() as port:
        proxied = azure.address.rpartition(":")[0] + f":{port}"
        done = azure("sync", plain, place, "--key", key, code=tool.PARTIAL, AZURITE_BLOB_STORAGE_URL=proxied)
    assert "left as it is: another run has written or removed it" in tool.message(done)
    azure("decrypt", place, tmp_path / "theirs", "--key", key)
    assert (tmp_path / "theirs" / name).read_bytes() == (other / name).read_bytes()
    azure("sync", plain, place, "--key", key)
    azure("verify", place, "--key", key)
    azure("decrypt", place, tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_a_container_that_is_not_there(azure, tmp_path):
    done = azure("verify", "az://missing/x", "--key", tool.keygen(tmp_path / "key"), "--retries", "0", code=tool.FAILED)
    assert "no such container" in tool.message(done)
