"""Fills the templates of the package managers' manifests: python fill.py ARTIFACTS VERSION

`@VERSION@` is the version, `@SHA256:NAME@` the sum of the artefact NAME. A template whose artefact is not here (another
platform's) is left out, and named.
"""

import hashlib
import pathlib
import re
import sys

artifacts, version = pathlib.Path(sys.argv[1]), sys.argv[2]
for manager in ("aur", "homebrew", "nix", "winget"):
    (artifacts / "manifests" / manager).mkdir(parents=True, exist_ok=True)
    for template in sorted((pathlib.Path(__file__).parent / manager).iterdir()):
        text = template.read_text().replace("@VERSION@", version)
        try:
            text = re.sub("@SHA256:(.+?)@", lambda name: hashlib.sha256((artifacts / name[1]).read_bytes()).hexdigest(), text)
        except FileNotFoundError as missing:
            print(f"{manager}/{template.name} is not made: {missing.filename} is not here")
            continue
        assert "@VERSION" not in text and "@SHA256" not in text, template
        (artifacts / "manifests" / manager / template.name).write_text(text)
