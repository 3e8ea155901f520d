"""Has umoci unpack the image and crun run the README's demonstration in it: python image.py IMAGE VERSION SAMPLES FOLDER"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

image, version, samples, folder = sys.argv[1:]
folder = pathlib.Path(folder)
shutil.rmtree(folder, ignore_errors=True)
(folder / "layout").mkdir(parents=True)
subprocess.run(["tar", "-xf", image, "-C", folder / "layout"], check=True)
subprocess.run(["umoci", "unpack", "--image", f"{folder}/layout:{version}", folder / "bundle"], check=True)
config = json.loads((folder / "bundle/config.json").read_text())
user = config["process"]["user"]["uid"]
assert user != 0, "the image runs as root"
assert config["process"]["args"] == ["/usr/bin/cipherloom"] and config["process"]["cwd"] == "/data", config["process"]
names = {str(path.relative_to(folder / "bundle/rootfs")) for path in (folder / "bundle/rootfs").rglob("*")}
assert not any(name.endswith(("/sh", "/bash")) for name in names), "the image has a shell"

data = folder / "data"
shutil.copytree(samples, data / "samples")
for path in [data, *data.rglob("*")]:
    os.chown(path, user, user)
# No limits and no view of control groups, whose form differs between hosts (crun refuses the hybrid one).
config["process"]["terminal"] = False
del config["linux"]["resources"]
config["mounts"] = [mount for mount in config["mounts"] if "cgroup" not in mount["destination"]]
run = 'mount -t tmpfs none /sys/fs/cgroup && exec crun --cgroup-manager=disabled run --bundle "$1" cipherloom-release'
config["mounts"].append({"destination": "/data", "source": str(data), "type": "bind", "options": ["bind", "rw"]})
for arguments in (
    ["encrypt", "samples", "out", "--new-key", "key.json"],
    ["verify", "out", "--key", "key.json"],
    ["decrypt", "out", "back", "--key", "key.json"],
):
    config["process"]["args"] = ["/usr/bin/cipherloom", *arguments]
    (folder / "bundle/config.json").write_text(json.dumps(config))
    subprocess.run(["unshare", "--mount", "sh", "-euc", run, "sh", folder / "bundle"], check=True)
subprocess.run(["diff", "--recursive", data / "samples", data / "back"], check=True)
assert (data / "key.json").stat().st_uid == user
print(f"the image works as user {user}; files in it: {len(names)}")
