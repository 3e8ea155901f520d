"""Trees that outgrow a machine: the operations of :mod:`cipherloom` on a cluster of Ray. ``pip install cipherloom[ray]``.

::

    list once ─> cut into tasks of even bytes ─> Ray ─┬> node: native pipeline, its threads ─> receipt ┐
                 (without what the index has)         └> node: native pipeline, its threads ─> receipt ┴> index

>>> from cipherloom import ray as scale                                                         # doctest: +SKIP
>>> report = scale.encrypt("books", "sealed", key)                        # a cluster on this machine # doctest: +SKIP
>>> report = scale.encrypt("s3://in/books", "s3://out/sealed", scale.Wrapped(envelope, kms),
...                        address="ray://head:10001")                                          # doctest: +SKIP

Every function lists its source once, submits tasks, and returns when all have ended. The sealed index of what :func:`encrypt` makes
says what is done, so a repeated run does only what is missing. Outputs are created and never overwritten, so a task that runs
twice changes nothing.

Source and destination are folders that every node sees under the same path, or addresses of object stores. cipherloom
is installed on every node, in the same version.
"""

from cipherloom.ray._cluster import Cluster
from cipherloom.ray._keys import KeyFile, Wrapped
from cipherloom.ray._operations import Settings, decrypt, encrypt, lcp_encrypt, rekey, verify
from cipherloom.ray._report import ScaleReport

__all__ = ["Cluster", "KeyFile", "ScaleReport", "Settings", "Wrapped", "decrypt", "encrypt", "lcp_encrypt", "rekey", "verify"]
