//! Arguments of the commands that process a tree: encrypt, decrypt, verify, rekey; and of the format of the encrypted side.

use super::{
    IfExistsArguments, RecipientArguments, ReportArguments, SecretArguments, named_values, positive,
    template_values,
};
use crate::hint::hint;
use cipherloom::Links;
use cipherloom::format::Cipher;
use cipherloom::internal::{Selection, Shard};
use cipherloom::key::Template;
use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom encrypt books sealed --new-key key.json
  cipherloom encrypt books sealed --new-key key.age --passphrase-file secret.txt
  cipherloom encrypt books sealed --key key.age --passphrase-file secret.txt
  cipherloom encrypt books sealed --key key.json --if-exists skip          resume a stopped run
  cipherloom encrypt books sealed --key key.json --index                   with a sealed index
  cipherloom encrypt books sealed --format raw --cipher aes-128-cbc --raw-key key.hex
  cipherloom encrypt books sealed --format openssl --cipher aes-256-cbc --passphrase-file secret.txt
  cipherloom encrypt books sealed --format age --recipient age1...         for an age identity
  tar c books | cipherloom encrypt - - --key key.json > books.tar.enc")]
pub struct EncryptArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    /// Make this key file first; never overwrites one. Plain, or wrapped as with keygen
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub new_key: Option<PathBuf>,
    /// Kind and segment size of the key that --new-key makes
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = template_values())]
    #[arg(requires = "new_key", conflicts_with = "key")]
    pub template: Template,
    /// Encrypt even if DST holds files that do not open with this key. The check opens at most 16 files of DST; there is
    /// none for standard input and the formats openssl and raw
    #[arg(long)]
    pub allow_mixed_keys: bool,
    /// Also list the files in a sealed index, DST/.cipherloom: `verify` then finds files that are missing, extra, swapped or
    /// put back. Use it in every run into DST: `verify` reports files that a run without it overwrites as replaced (format
    /// tink, folders)
    #[arg(long)]
    pub index: bool,
    /// With --index: give the files random names, which only the index knows. All runs into DST hide names, or none does. Sizes are
    /// not hidden
    #[arg(long, requires = "index", conflicts_with_all = ["suffix", "bind_path"])]
    pub hide_names: bool,
    /// With --index: remember the index's generation in FILE, and refuse to follow one that is older
    #[arg(long, value_name = "FILE", requires = "index")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub recipients: RecipientArguments,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom decrypt sealed opened --key key.json
  cipherloom decrypt sealed opened --key key.json --only 'letters/**'      a part, by its index
  cipherloom decrypt sealed opened --identity me.txt                       files of age
  cipherloom decrypt sealed/chapter.enc - --key key.json | less")]
pub struct DecryptArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    /// With --format raw: decrypt even what looks like a Tink stream, as one raw stream in 128 does
    #[arg(long)]
    pub assume_raw: bool,
    /// Decrypt the files whose plaintext's name (or path, if GLOB has a `/`) matches and that the tree's index lists, and only
    /// if they are the files that it lists (repeatable)
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["files_from", "files_from0", "include", "exclude", "shard", "links"])]
    pub only: Vec<String>,
    /// With --only: refuse a tree whose index is older than FILE remembers; else remember its generation in FILE
    #[arg(long, value_name = "FILE", requires = "only")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom verify sealed --key key.json
  cipherloom verify sealed --key key.json --quick                          against its index only
  cipherloom verify sealed --identity me.txt
  cipherloom verify sealed --key key.json --json | jq 'select(.event == \"failed\")'")]
pub struct VerifyArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    /// The suffix that encryption added to names (needed with --bind-path)
    #[arg(long, value_name = "SUFFIX", default_value = "", hide_default_value = true)]
    pub suffix: OsString,
    /// Read only the beginning and end of each file, and compare them with the tree's index
    #[arg(long)]
    pub quick: bool,
    /// Fail if the tree's index is older than FILE remembers, or of another tree; else remember its generation in FILE
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom rekey sealed resealed --key old.json --to new.json
  cipherloom rekey sealed sealed --key old.json --to new.json --if-exists overwrite
  cipherloom rekey sealed resealed --identity me.txt --recipient age1...

The second example re-keys in place: each file is replaced when its output is complete and on disk.
A repeated run skips the files that already open with the new key.

If SRC has an index, DST gets one too. Only files that are as the index lists them are re-keyed,
and a repeated run skips those that an earlier run re-keyed.")]
pub struct RekeyArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    /// The key file to encrypt under (Tink keyset, plain or wrapped; for cobblestone a raw key)
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Read the passphrase of the --to key file from the first line of FILE; default: the same as for --key. With --format
    /// age: the new passphrase of the files
    #[arg(long, value_name = "FILE")]
    pub to_passphrase_file: Option<PathBuf>,
    /// Encrypt even if DST holds files that do not open with the key of --to. The check opens at most 16 files of DST; there
    /// is none for standard input
    #[arg(long)]
    pub allow_mixed_keys: bool,
    /// Refuse a tree whose index is older than FILE remembers; else remember its generation in FILE, in place the new one
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub recipients: RecipientArguments,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
pub struct FloorArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args, Default)]
pub struct TreeArguments {
    /// The file or folder to read; `-` for standard input; s3://, gs:// or az://BUCKET/PREFIX. Several, all in one folder,
    /// go to an existing DST, each under its own name
    #[arg(value_name = "SRC", required = true)]
    pub sources: Vec<PathBuf>,
    /// Take only the files that FILE lists, a path below SRC on each line; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// As --files-from, each path ended by a zero byte, as by `find -print0`
    #[arg(long, value_name = "FILE", conflicts_with = "files_from")]
    pub files_from0: Option<PathBuf>,
    /// Take only files whose name (or path, if GLOB has a `/`) matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Leave out files and folders that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Take one of N shares, chosen by path, for N machines that divide a tree among themselves
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub shard: Option<Shard>,
}

impl TreeArguments {
    /// The first source; most runs have only this one.
    pub fn source(&self) -> &Path {
        &self.sources[0]
    }

    /// Whether a list names the files of the tree.
    pub fn names_files(&self) -> bool {
        self.files_from.is_some() || self.files_from0.is_some()
    }

    /// Which entries of the tree are processed.
    pub fn selection(&self) -> Result<Selection, cipherloom::Error> {
        Ok(Selection::new(&self.include, &self.exclude)?.in_shard(self.shard))
    }
}

#[derive(Debug, Args)]
pub struct OutputArguments {
    /// The folder (or file, if SRC is one) to write; `-` for standard output; s3://, gs:// or az://BUCKET/PREFIX
    #[arg(value_name = "DST", required = true)]
    pub destination: PathBuf,
    #[command(flatten)]
    pub if_exists: IfExistsArguments,
    /// Skip symbolic links, or copy them as links. Links are not authenticated: `decrypt --links copy` refuses those that
    /// could lead out of DST, copy-all does not
    #[arg(long, default_value = "skip", value_name = "skip|copy|copy-all", value_parser = links_values(), hide_possible_values = true)]
    pub links: Links,
    /// Give outputs exactly the permissions of their sources, which are not authenticated. Without it the umask applies
    #[arg(long, value_name = "modes", value_parser = ["modes"], hide_possible_values = true)]
    pub preserve: Option<String>,
    /// Added to names when encrypting, removed when decrypting
    #[arg(long, value_name = "SUFFIX", default_value = "", hide_default_value = true)]
    pub suffix: OsString,
    /// Force every output to stable storage before it gets its name
    #[arg(long)]
    pub durable: bool,
    /// On a file system that can rename only by replacing, accept that this may replace a file that another program
    /// creates at the same moment
    #[arg(long)]
    pub non_atomic: bool,
    /// Only show the plan; with -v which file goes where, too
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct MachineArguments {
    /// Worker threads; default: as many as speed up this run on this machine
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub threads: Option<NonZeroUsize>,
    /// AES backend; default: the best that this CPU has (`cipherloom devices` lists them)
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct StoreArguments {
    /// How many objects of a store are processed at once
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>, default_value = "64", hide = cfg!(not(feature = "stores")))]
    pub in_flight: NonZeroUsize,
    /// How often a failed request to a store is repeated, with a delay that doubles each time
    #[arg(long, value_name = "N", default_value = "10", hide = cfg!(not(feature = "stores")))]
    pub retries: usize,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct CommonArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub stores: StoreArguments,
    /// Succeed if there is nothing to do
    #[arg(long)]
    pub allow_empty: bool,
    #[command(flatten)]
    pub report: ReportArguments,
    /// Print a line for each file, and the plan
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
}

pub(super) fn links_values() -> impl TypedValueParser<Value = Links> {
    named_values([("skip", Links::Skip), ("copy", Links::Copy), ("copy-all", Links::CopyAll)])
}

/// Parses a shard; the error is one line, as clap wants it.
fn parse_shard(text: &str) -> Result<Shard, String> {
    text.parse().map_err(|error| format!("{error}: {}", hint(&error).unwrap_or_default()))
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Format and keys")]
pub struct FormatArguments {
    /// The format of the encrypted side [default: age where a recipient or identity is given and no key, else tink]
    #[arg(long = "format", value_enum, value_name = "FORMAT", id = "format")]
    pub given_format: Option<FormatName>,
    /// The format, once it is decided (`FormatArguments::decide_format`).
    #[arg(skip)]
    pub format: FormatName,
    /// Key file for tink: a keyset (JSON), plain or wrapped in an age file [env: CIPHERLOOM_KEY]
    #[arg(long, short = 'k', value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Refuse a key file whose key has another fingerprint (`keygen` and `inspect` show it; repeatable)
    #[arg(long, value_name = "FINGERPRINT")]
    pub expect_key: Vec<String>,
    #[command(flatten)]
    pub secrets: SecretArguments,
    /// Use a passphrase: for the files (age), or to wrap the key of --new-key. It is asked for, or comes from
    /// --passphrase-file or CIPHERLOOM_PASSPHRASE
    #[arg(long, conflicts_with = "key")]
    pub passphrase: bool,
    /// Open age files whose passphrase takes up to 2^N rounds of scrypt [default: 22]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub max_work_factor: Option<u8>,
    /// Allow tink keys with segments of up to N bytes, of which each thread holds one in memory [default: 64 MiB]
    #[arg(long, value_name = "N")]
    pub max_segment_size: Option<u32>,
    /// Key file for raw and cobblestone: hex digits, or the bytes themselves
    #[arg(long, value_name = "FILE")]
    pub raw_key: Option<PathBuf>,
    /// Cipher for raw and openssl
    #[arg(long, value_name = "CIPHER", value_parser = cipher_values())]
    pub cipher: Option<Cipher>,
    /// Fixed initialisation vector for raw, 32 hex digits; default: random, in front of each file
    #[arg(long, value_name = "HEX")]
    pub iv: Option<String>,
    /// Allow one fixed --iv for several files in CTR mode, which reveals their XOR to anybody
    #[arg(long)]
    pub reuse_keystream_and_reveal_plaintext: bool,
    /// Iterations of PBKDF2 for openssl [default: 600000; openssl's own is 10000]
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU32>)]
    pub pbkdf2_iterations: Option<NonZeroU32>,
    /// Context for cobblestone; must be the same for decryption
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Bind each file's relative path to its ciphertext (tink, cobblestone): a file moved or renamed no longer opens
    #[arg(long)]
    pub bind_path: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum FormatName {
    /// Tink Streaming AEAD
    #[default]
    Tink,
    /// C2SP chunked encryption
    Cobblestone,
    /// Files of age and rage
    Age,
    /// What `openssl enc -pbkdf2 -salt` writes
    Openssl,
    /// AES in CBC or CTR mode and nothing else
    Raw,
}

pub fn cipher_values() -> impl TypedValueParser<Value = Cipher> {
    named_values(Cipher::ALL.map(|cipher| (cipher.name(), cipher)))
}
