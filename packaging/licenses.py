"""Prints the licenses of every crate that a package links: a list, then each text once, below the crates that have it.

    python licenses.py TARGET MANIFEST [FEATURES]     MANIFEST: the package's Cargo.toml
"""

import json
import pathlib
import subprocess
import sys

HEAD = """\
cipherloom is under MIT or Apache-2.0, as you choose. What it links is under these licenses.

The Rust standard library: MIT OR Apache-2.0 (https://github.com/rust-lang/rust)
In the static executable for Linux, the GNU C Library: LGPL-2.1-or-later (https://sourceware.org/glibc). To link the executable with
another version of it, build the source archive that is released beside it.
"""
# How the files begin in which authors pass on licenses and notices.
FILES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def cargo(*arguments: str) -> str:
    command = ["cargo", *arguments, "--locked", "--manifest-path", manifest]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


target, manifest, *features = sys.argv[1:]
options = ["--features", ",".join(features), "--edges", "normal", "--target", target]
tree = cargo("tree", *options, "--prefix", "none", "--format", "{p}")
# `name v1.2.3 (proc-macro)`, `name v1.2.3 (/path)`: macros run in the compiler, and ours are not others'.
linked = {line for line in tree.splitlines() if line and "(" not in line}
crates, texts = [], {}
for package in json.loads(cargo("metadata", "--format-version", "1", "--all-features"))["packages"]:
    name = f"{package['name']} v{package['version']}"
    if name not in linked:
        continue
    found = [path for path in pathlib.Path(package["manifest_path"]).parent.iterdir() if path.name.upper().startswith(FILES)]
    for path in filter(pathlib.Path.is_file, found):
        text = path.read_text(errors="replace").replace("\r\n", "\n").strip()
        texts.setdefault(text, set()).add(name)
    if not package["license"] and not found:
        sys.exit(f"{name} names no license")
    crates.append(f"{name}: {package['license']} ({package['repository']})")
assert len(crates) == len(linked), "cargo tree and cargo metadata name different packages"
print(HEAD + "\n" + "\n".join(sorted(crates)))
for text, names in sorted(texts.items(), key=lambda item: sorted(item[1])):
    print("\n" + "-" * 80 + "\n" + ", ".join(sorted(names)) + "\n\n" + text)
