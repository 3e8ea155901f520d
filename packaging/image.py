"""Writes a container image as an archived OCI layout (image-spec 1.1): one layer with the static executable, certificates for
stores, and an empty folder to work in. No shell, no root user, no daemon.

    oci-layout, index.json -> blobs/sha256/MANIFEST -> CONFIG, LAYER (etc/, usr/, data/)

    python image.py STAGED CERTIFICATES VERSION ARCHITECTURE TIME OUTPUT
"""

import hashlib
import io
import json
import pathlib
import sys
import tarfile
import time

# Nobody that a host knows.
USER = 65532

staged, certificates, version, architecture, seconds, output = sys.argv[1:]
staged = pathlib.Path(staged)
blobs: dict[str, bytes] = {}


def pack(entries: list[tuple[str, bytes | None, int, int]]) -> bytes:
    """An archive of (name, content or None for a folder, mode, owner), the same bytes at any time on any machine."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, mode, owner in entries:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime, entry.uid, entry.gid = mode, int(seconds), owner, owner
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.size = len(content or b"")
            archive.addfile(entry, io.BytesIO(content or b""))
    return packed.getvalue()


def describe(kind: str, content: bytes) -> dict:
    """Stores a blob and gives its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}


files = {
    "etc/ssl/certs/ca-certificates.crt": (pathlib.Path(certificates), 0o644),
    "usr/bin/cipherloom": (staged / "cipherloom", 0o755),
}
for path in staged.glob("LICENSE-*"):
    files[f"usr/share/doc/cipherloom/{path.name}"] = (path, 0o644)
folders = {str(parent) for name in files for parent in pathlib.PurePath(name).parents} - {"."}
entries = [(name, None, 0o755, 0) for name in folders]
entries += [(name, path.read_bytes(), mode, 0) for name, (path, mode) in files.items()]
layer = describe("layer.v1.tar", pack(sorted(entries) + [("data", None, 0o755, USER)]))
config = {
    "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds))),
    "architecture": architecture,
    "os": "linux",
    "config": {
        "User": f"{USER}:{USER}",
        "Entrypoint": ["/usr/bin/cipherloom"],
        "WorkingDir": "/data",
        "Labels": {
            "org.opencontainers.image.title": "cipherloom",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            "org.opencontainers.image.source": "https://github.com/cipherloom/cipherloom",
        },
    },
    # The layer is not compressed, so its digest is also that of its content.
    "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
}
manifest = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": describe("config.v1+json", json.dumps(config).encode()),
    "layers": [layer],
}
index = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [
        describe("manifest.v1+json", json.dumps(manifest).encode())
        | {"annotations": {"org.opencontainers.image.ref.name": version}}
        | {"platform": {"architecture": architecture, "os": "linux"}}
    ],
}
parts = {"index.json": json.dumps(index).encode(), "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
parts |= {f"blobs/sha256/{digest}": content for digest, content in blobs.items()}
entries = [(name, None, 0o755, 0) for name in ("blobs", "blobs/sha256")]
pathlib.Path(output).write_bytes(pack(entries + [(name, parts[name], 0o644, 0) for name in sorted(parts)]))
