"""A file system that tells of a lost write only when the file is closed (NFS, FUSE, quotas), as standard output."""

import subprocess

import pytest
import tool


@pytest.mark.parametrize("arguments", [["encrypt", "plain", "-", "--key"], ["decrypt", "sealed", "-", "--key"], ["inspect"]])
def test_an_error_of_the_close_is_no_success(tmp_path, key, arguments):
    tool.write_tree(tmp_path, {"plain": 5000})
    tool.run("encrypt", tmp_path / "plain", tmp_path / "sealed", "--key", key)
    output = tmp_path / "output"
    command = [tool.COMMAND, *arguments, key]
    fault = ["strace", "-f", "-o", "/dev/null", "-P", output, "-e", "trace=close", "-e", "inject=close:error=EDQUOT:when=1+"]
    for prefix, code in [([], tool.DONE), (fault, tool.FAILED)]:
        with open(output, "wb") as sink:
            done = subprocess.run([*prefix, *command], cwd=tmp_path, stdout=sink, stderr=subprocess.PIPE)
        assert done.returncode == code, tool.message(done)
        assert tool.message(done).count("cannot write to standard output") == code
