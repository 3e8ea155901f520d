"""Validates what the command prints with --json against the schema: python check_events.py COMMAND"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

schema = json.loads((pathlib.Path(__file__).parent / "events.schema.json").read_text())
validator = jsonschema.Draft202012Validator(schema)
validator.check_schema(schema)
command = pathlib.Path(sys.argv[1]).resolve()
# Removed when the script ends.
scratch = tempfile.TemporaryDirectory()
folder = pathlib.Path(scratch.name)
seen = set()


def run(*arguments: str, code: int = 0) -> None:
    done = subprocess.run([command, *arguments, "--json"], cwd=folder, stdout=subprocess.PIPE, check=False)
    assert done.returncode == code, (arguments, done.returncode)
    for line in done.stdout.decode().splitlines():
        value = json.loads(line)
        if "event" in value:
            validator.validate(value)
            seen.add(value["event"])


tree = folder / "tree"
tree.mkdir()
for name in ("one", "two"):
    (tree / name).write_text(name)
os.close(os.open(os.fsencode(tree) + b"/not \xff UTF-8", os.O_CREAT | os.O_WRONLY))
run("encrypt", "tree", "out", "--new-key", "key.json")
run("encrypt", "tree", "out", "--key", "key.json", "--if-exists", "skip")
run("encrypt", "tree", "indexed", "--key", "key.json", "--index")
run("verify", "indexed", "--key", "key.json", "--quick")
run("list", "indexed", "--key", "key.json")
run("sync", "tree", "synchronized", "--key", "key.json")
run("sync", "tree", "synchronized", "--key", "key.json", "--checksum", "--dry-run", "--verbose")
run("encrypt", "tree", "out2", "--key", "key.json", "--dry-run", "--verbose")
with open(folder / "out" / "one", "r+b") as file:
    file.seek(50)
    file.write(b"damage")
run("verify", "out", "--key", "key.json", code=5)
run("decrypt", "out", "back", "--key", "key.json", code=5)
wanted = set(schema["$defs"]["entry"]["properties"]["event"]["enum"]) | {"entry", "summary"}
assert seen == wanted, seen
for damaged in ({"event": "done"}, {"event": "failed", "source": "a", "bytes": 1}, {"event": "summary"}, {"event": "new"}):
    assert not validator.is_valid(damaged), damaged
print(f"the schema holds for {', '.join(sorted(seen))}")
