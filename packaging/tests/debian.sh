# Installs the package, uses it, and removes it.
set -eu
dpkg --install /given/*.deb
MANPAGER=cat man cipherloom | grep --quiet 'CIPHERLOOM ENCRYPT'
test -s /usr/share/bash-completion/completions/cipherloom.bash
test -s /usr/share/zsh/vendor-completions/_cipherloom
test -s /usr/share/fish/vendor_completions.d/cipherloom.fish
test -s /usr/share/doc/cipherloom/LICENSE-MIT
test -s /usr/share/doc/cipherloom/LICENSE-THIRD-PARTY
sh /given/tests/demo.sh
dpkg --purge cipherloom
test ! -e /usr/bin/cipherloom
