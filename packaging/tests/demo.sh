# The README's demonstration, for a system in which cipherloom was just installed. SAMPLES is the sample tree.
set -eu
samples=${SAMPLES:-/given/samples}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
cp -r "$samples" samples
cipherloom --version
cipherloom encrypt samples out --new-key key.json
cipherloom verify out --key key.json
cipherloom decrypt out back --key key.json
diff -r samples back && echo the same

# Changed bytes: that file fails with exit code 5, all others are decrypted.
damaged=$(find out -type f | sort | head -n 1)
printf damaged | dd of="$damaged" bs=1 seek=70 conv=notrunc status=none
code=0
cipherloom decrypt out again --key key.json || code=$?
test "$code" = 5
test "$(find again -type f | wc -l)" = "$(($(find samples -type f | wc -l) - 1))"

# Stores are built in: an address works where a path does.
cipherloom decrypt "file://$PWD/out" stored --key key.json || test $? = 5
