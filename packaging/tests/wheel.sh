# No Rust, no compiler and no network are here.
set -eu
python3 -m venv /opt/venv
/opt/venv/bin/pip install --quiet --no-index /given/*.whl
/opt/venv/bin/python /given/tests/demo.py /given/samples
