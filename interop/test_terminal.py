"""A person at a terminal: passphrase prompts, Ctrl-C and Ctrl-Z at them, and the line that shows the progress."""

import os
import re
import signal
import sys
import termios
import time

import pexpect
import pytest
import tool

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CIPHERLOOM_PASSPHRASE"}


def at_terminal(*arguments, **options):
    """The command at a terminal of its own."""
    return pexpect.spawn(tool.COMMAND, list(map(str, arguments)), env=ENVIRONMENT, timeout=60, **options)


def echoes(child):
    return bool(termios.tcgetattr(child.child_fd)[3] & termios.ECHO)


def asked(tmp_path):
    child = at_terminal("keygen", "--passphrase", "-o", tmp_path / "key.json")
    child.expect("New passphrase for .*: ")
    tool.wait_until(lambda: not echoes(child))
    return child


@pytest.mark.parametrize(
    "number, code, words",
    [
        (signal.SIGINT, 130, "stopped"),
        (signal.SIGTERM, 143, "stopped by SIGTERM"),
        (signal.SIGHUP, 129, "stopped by SIGHUP"),
    ],
)
def test_a_signal_at_the_prompt_gives_the_echo_back(tmp_path, number, code, words):
    child = asked(tmp_path)
    child.send("half a pass")
    child.kill(number)
    child.expect(pexpect.EOF)
    said = child.before.decode()
    assert said.count(f"cipherloom: {words}") == 1 and "half" not in said
    assert echoes(child)
    child.close()
    assert child.exitstatus == code
    assert os.listdir(tmp_path) == []


def test_ctrl_c_at_the_prompt(tmp_path):
    child = asked(tmp_path)
    child.sendintr()
    child.expect(pexpect.EOF)
    assert child.before.decode().count("cipherloom: stopped") == 1
    assert echoes(child)
    child.close()
    assert child.exitstatus == 130


def test_ctrl_backslash_at_the_prompt(tmp_path):
    child = asked(tmp_path)
    child.send("\x1c")
    child.expect(pexpect.EOF)
    assert echoes(child)
    child.close()
    assert child.signalstatus == signal.SIGQUIT


def test_ctrl_z_at_the_prompt_stops_and_goes_on(tmp_path):
    """The terminal echoes while the command is stopped (dash leaves it as it finds it), and the prompt comes again."""
    shell = pexpect.spawn("dash", ["-i"], env={**ENVIRONMENT, "PS1": "ready> "}, timeout=60)
    shell.expect("ready> ")
    shell.sendline(f"{tool.COMMAND} keygen --passphrase -o {tmp_path}/key.json")
    shell.expect("New passphrase for .*: ")
    tool.wait_until(lambda: not echoes(shell))
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.expect("ready> ")
    assert echoes(shell)
    shell.sendline("fg")
    shell.expect("New passphrase for .*: ")
    tool.wait_until(lambda: not echoes(shell))
    shell.sendline("correct horse")
    shell.expect("The same again: ")
    shell.sendline("correct horse")
    shell.expect("made key")
    shell.expect("ready> ")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    assert (tmp_path / "key.json").exists()


def ignores_ctrl_z(child):
    child.send("\x1a")
    time.sleep(0.2)
    child.sendline("correct horse")
    child.expect("The same again: ")
    child.sendline("correct horse")
    child.expect("made key")
    child.expect(pexpect.EOF)


def test_ctrl_z_where_no_shell_could_go_on_is_ignored(tmp_path):
    ignores_ctrl_z(asked(tmp_path))


def test_ctrl_z_in_a_container_is_ignored(tmp_path):
    """The parent's session lies outside the PID namespace: it has no number there."""
    line = f"setsid --ctty --wait {tool.COMMAND} keygen --passphrase -o {tmp_path}/key.json; exit $?"
    child = pexpect.spawn("unshare", ["--pid", "--fork", "sh", "-c", line], env=ENVIRONMENT, timeout=60)
    child.expect("New passphrase for .*: ")
    tool.wait_until(lambda: not echoes(child))
    ignores_ctrl_z(child)


def test_a_passphrase_is_never_echoed(tmp_path):
    child = asked(tmp_path)
    child.sendline("first")
    child.expect("The same again: ")
    child.sendline("second")
    child.expect(pexpect.EOF)
    said = child.before.decode()
    assert "the two passphrases differ" in said and "first" not in said and "second" not in said
    child.close()
    assert child.exitstatus == tool.KEY


def test_the_progress_of_a_pipe_stays_in_one_line(tmp_path, key):
    """Eighty columns: each drawing goes over the one before, and the summary comes at the end."""
    feed = f"{sys.executable} -c 'import os, time\nfor _ in range(8): os.write(1, bytes(1 << 20)); time.sleep(0.1)'"
    line = f"{feed} | {tool.COMMAND} encrypt - {tmp_path}/sealed --key {key}"
    child = pexpect.spawn("bash", ["-c", line], env=ENVIRONMENT, timeout=60, dimensions=(24, 80))
    child.expect(pexpect.EOF)
    said = child.before.decode()
    assert "MiB/s" in said
    assert "encrypted 1 file, 8.0 MiB in " in said.rstrip().splitlines()[-1]
    assert said.count("\n") <= 2, repr(said)


@pytest.mark.parametrize("columns", [40, 80])
def test_the_progress_of_a_tree_fits_into_the_terminal(tmp_path, key, columns):
    plain = tool.write_tree(tmp_path / "plain", {f"a-name-{number}": 3 for number in range(200)})
    with open(plain / "large", "wb") as large:
        large.truncate(1 << 34)
    child = at_terminal("encrypt", plain, tmp_path / "sealed", "--key", key, dimensions=(24, columns))
    child.expect(" %  ")
    time.sleep(0.5)
    child.kill(signal.SIGINT)
    child.expect(pexpect.EOF)
    drawn = child.before.decode()
    child.close()
    assert child.exitstatus == 130
    for part in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "\r", drawn)):
        assert part.startswith(("encrypted ", "hint: ")) or "cipherloom: stopped" in part or len(part) <= columns, repr(part)
