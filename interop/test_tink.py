"""Tink in Python, Go and Java opens what we make, and we open what it makes; keysets too."""

import peers
import pytest
import tool

PEERS = [peers.TinkPython, peers.TinkGo, peers.TinkJava]
MAKERS = [peers.TinkPython, peers.TinkGo]


def named(peer):
    return peer.__name__


@pytest.mark.parametrize("template", tool.TEMPLATES)
@pytest.mark.parametrize("peer", PEERS, ids=named)
def test_both_directions_at_every_edge(tmp_path, peer, template):
    key = tool.keygen(tmp_path / "key.json", template)
    files = {f"size-{size}": size for size in tool.edge_sizes(template)}
    plain = tool.write_tree(tmp_path / "plain", files)
    ours, theirs, opened = (tmp_path / name for name in ("ours", "theirs", "opened"))
    tool.run("encrypt", plain, ours, "--key", key)
    opened.mkdir()
    peer.decrypt([(key, ours / name, opened / name, "") for name in files])
    assert tool.read_tree(opened) == tool.read_tree(plain)

    theirs.mkdir()
    peer.encrypt([(key, plain / name, theirs / name, "") for name in files])
    tool.run("verify", theirs, "--key", key)
    tool.run("decrypt", theirs, tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


@pytest.mark.parametrize("peer", PEERS, ids=named)
def test_the_bound_path_is_the_associated_data(tmp_path, key, tree, peer):
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key, "--bind-path")
    name = "deep/er/chapter.xhtml"
    peer.decrypt([(key, sealed / name, tmp_path / "opened", name)])
    assert (tmp_path / "opened").read_bytes() == (tree / name).read_bytes()

    theirs = tmp_path / "theirs"
    (theirs / "deep/er").mkdir(parents=True)
    peer.encrypt([(key, tree / name, theirs / name, name)])
    tool.run("decrypt", theirs, tmp_path / "back", "--key", key, "--bind-path")
    assert (tmp_path / "back" / name).read_bytes() == (tree / name).read_bytes()


@pytest.mark.parametrize("template", tool.TEMPLATES)
@pytest.mark.parametrize("maker", MAKERS, ids=named)
def test_their_keysets_open_here(tmp_path, maker, template):
    key = maker.new_keyset(template, tmp_path / "theirs.json")
    key.chmod(0o600)
    plain = tool.write_tree(tmp_path / "plain", {"file": 10_000})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    maker.decrypt([(key, tmp_path / "sealed/file", tmp_path / "opened", "")])
    assert (tmp_path / "opened").read_bytes() == (plain / "file").read_bytes()


def test_a_swapped_name_is_noticed(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", {"a": 100, "b": 100})
    sealed = tmp_path / "sealed"
    tool.run("encrypt", plain, sealed, "--key", key, "--bind-path")
    (sealed / "a").rename(sealed / "c")
    (sealed / "b").rename(sealed / "a")
    (sealed / "c").rename(sealed / "b")
    tool.run("verify", sealed, "--key", key, "--bind-path", code=tool.UNAUTHENTIC)
