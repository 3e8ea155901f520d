"""Compares the bill of materials with what cargo-auditable recorded in the executable: python bill.py BILL EXECUTABLE"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

bill = json.loads(pathlib.Path(sys.argv[1]).read_text())
with tempfile.TemporaryDirectory() as folder:
    section = pathlib.Path(folder) / "dep-v0"
    subprocess.run(["objcopy", f"--dump-section=.dep-v0={section}", sys.argv[2], "/dev/null"], check=True)
    recorded = json.loads(zlib.decompress(section.read_bytes()))["packages"]
listed = {(part["name"], part["version"]) for part in [*bill["components"], bill["metadata"]["component"]]}
linked = {(part["name"], part["version"]) for part in recorded if part.get("kind", "runtime") == "runtime"}
assert len(linked) > 50, linked
assert linked <= listed, f"the bill lacks {linked - listed}"
assert all("licenses" in part for part in bill["components"]), "a component without a license"
print(f"the executable records {len(linked)} linked crates; the bill has them among its {len(listed)}")
