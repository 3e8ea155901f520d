# Each tool's own parser reads its manifest; Arch Linux' package is also unpacked as makepkg does it. Run by bash in the folder.
set -euo pipefail
nix-instantiate --parse nix/package.nix >/dev/null
ruby -c homebrew/cipherloom.rb >/dev/null
for file in winget/*.yaml; do
    test ! -f "$file" || ruby -ryaml -e 'YAML.load_file(ARGV[0])' "$file"
done
. aur/PKGBUILD
archive=../${source_x86_64[0]##*/}
echo "${sha256sums_x86_64[0]}  $archive" | sha256sum --check --quiet
srcdir=$(mktemp -d) pkgdir=$(mktemp -d)
tar --extract --file "$archive" --directory "$srcdir"
(package)
"$pkgdir/usr/bin/cipherloom" --version
rm -r "$srcdir" "$pkgdir"
