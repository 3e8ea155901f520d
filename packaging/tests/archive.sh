# What whoever unpacks the archive does with it.
set -eu
tar --extract --file /given/*-linux-gnu.tar.gz --directory /opt
cd /opt/cipherloom-*
cp cipherloom /usr/local/bin
install -D --mode 644 -t /usr/local/share/man/man1 cipherloom.1
MANPAGER=cat man cipherloom | grep --quiet 'CIPHERLOOM ENCRYPT'
bash -c '. completions/cipherloom.bash && complete -p cipherloom'
zsh -n completions/_cipherloom
fish --no-execute completions/cipherloom.fish
sh /given/tests/demo.sh
