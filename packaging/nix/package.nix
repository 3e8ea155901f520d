# The released static executable. Build with:  nix-build -E '(import <nixpkgs> {}).callPackage ./package.nix {}'
{
  lib,
  stdenvNoCC,
  fetchurl,
  installShellFiles,
}:

stdenvNoCC.mkDerivation rec {
  pname = "cipherloom";
  version = "@VERSION@";

  src = fetchurl {
    url = "https://github.com/cipherloom/cipherloom/releases/download/v${version}/cipherloom-${version}-x86_64-unknown-linux-gnu.tar.gz";
    sha256 = "@SHA256:cipherloom-@VERSION@-x86_64-unknown-linux-gnu.tar.gz@";
  };

  nativeBuildInputs = [ installShellFiles ];

  installPhase = ''
    runHook preInstall
    install -D --mode=755 --target-directory="$out/bin" cipherloom
    installManPage cipherloom.1
    installShellCompletion completions/cipherloom.{bash,fish} completions/_cipherloom
    install -D --mode=644 --target-directory="$out/share/doc/cipherloom" LICENSE-*
    runHook postInstall
  '';

  meta = {
    description = "Encrypt, verify, decrypt and re-key trees of files on every core";
    homepage = "https://github.com/cipherloom/cipherloom";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "cipherloom";
    platforms = [ "x86_64-linux" ];
    sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];
  };
}
