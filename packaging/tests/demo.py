"""The Python package's demonstration, where its wheel was just installed: python demo.py SAMPLES"""

import filecmp
import importlib.metadata
import pathlib
import sys
import tempfile

import cipherloom as cl

samples = pathlib.Path(sys.argv[1])
folder = pathlib.Path(tempfile.mkdtemp())
key = cl.Keyset.generate()
key.write(folder / "key.json")
report = cl.encrypt_tree(samples, folder / "out", key)
assert report.files > 0 and report.failed == 0, report
assert cl.verify_tree(folder / "out", key).failed == 0
cl.decrypt_tree(folder / "out", folder / "back", cl.Keyset.read(folder / "key.json"))
files = [path.relative_to(samples) for path in samples.rglob("*") if path.is_file()]
same, different, missing = filecmp.cmpfiles(samples, folder / "back", files, shallow=False)
assert len(same) == report.files and not different and not missing, (different, missing)

aead = cl.StreamingAead(key)
assert aead.decrypt(aead.encrypt(b"in memory", associated_data=b"bound"), associated_data=b"bound") == b"in memory"
try:
    aead.decrypt(aead.encrypt(b"in memory"), associated_data=b"another")
except cl.exceptions.InvalidTag:
    version = importlib.metadata.version("cipherloom")
    print(f"cipherloom {version}: {report.files} files, the same after a round trip")
else:
    sys.exit("associated data is not checked")
