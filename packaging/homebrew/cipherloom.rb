class Cipherloom < Formula
  desc "Encrypt, verify, decrypt and re-key trees of files on every core"
  homepage "https://github.com/cipherloom/cipherloom"
  url "https://github.com/cipherloom/cipherloom/releases/download/v@VERSION@/cipherloom-@VERSION@-source.tar.gz"
  sha256 "@SHA256:cipherloom-@VERSION@-source.tar.gz@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli", features: "stores")
    generate_completions_from_executable(bin/"cipherloom", "completions")
    (man1/"cipherloom.1").write Utils.safe_popen_read(bin/"cipherloom", "man")
  end

  test do
    (testpath/"tree/file.txt").write "the content"
    system bin/"cipherloom", "encrypt", "tree", "sealed", "--new-key", "key.json"
    system bin/"cipherloom", "decrypt", "sealed", "opened", "--key", "key.json"
    assert_equal "the content", (testpath/"opened/file.txt").read
  end
end
