//! Arguments of the commands that take a tree through the pipeline: encrypt, decrypt, verify, rekey.

use cipherloom::key::Template;
use cipherloom::{Selection, Shard};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom encrypt books sealed --new-key key.json
  cipherloom encrypt books sealed --new-key key.age --passphrase-file secret.txt
  cipherloom encrypt books sealed --key key.age --passphrase-file secret.txt
  cipherloom encrypt books sealed --key key.json --if-exists skip          resume a stopped run
  cipherloom encrypt books sealed --format raw --cipher aes-128-cbc --raw-key key.hex
  cipherloom encrypt books sealed --format openssl --cipher aes-256-cbc --passphrase-file secret.txt
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
    #[arg(
        long,
        default_value_t,
        value_name = "TEMPLATE",
        ignore_case = true,
        value_parser = super::template_values(),
        requires = "new_key",
        conflicts_with = "key"
    )]
    pub template: Template,
    /// Wrap the new key with a passphrase (asked for, or from --passphrase-file or CIPHERLOOM_PASSPHRASE)
    // What conflicts with the option that is required is not missed by clap: both are said.
    #[arg(long, requires = "new_key", conflicts_with_all = ["recipient", "key"])]
    pub passphrase: bool,
    /// Wrap the new key for the owner of this age public key (repeatable)
    #[arg(long, value_name = "AGE1…", requires = "new_key", conflicts_with_all = ["passphrase_file", "key"])]
    pub recipient: Vec<String>,
    /// Encrypt even if DST holds files that do not open with this key. The check opens at most 16 files of DST; there is
    /// none for standard input and the formats openssl and raw
    #[arg(long)]
    pub allow_mixed_keys: bool,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom decrypt sealed opened --key key.json
  cipherloom decrypt sealed/chapter.enc - --key key.json | less")]
pub struct DecryptArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    /// With --format raw: decrypt even what looks like a Tink stream, as one raw stream in 128 does
    #[arg(long)]
    pub assume_raw: bool,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom verify sealed --key key.json
  cipherloom verify sealed --key key.json --json | jq 'select(.event == \"failed\")'")]
pub struct VerifyArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    /// The suffix that encryption added to names (needed with --bind-path)
    #[arg(long, value_name = "SUFFIX", default_value = "", hide_default_value = true)]
    pub suffix: OsString,
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

The second re-keys in place: each file is replaced when its output is complete and on disk.
A repeated run skips the files that open with the new key already.")]
pub struct RekeyArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
    /// The key file to encrypt under (Tink keyset, plain or wrapped; for cobblestone a raw key)
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Read the passphrase of the --to key file from the first line of FILE; default: the same as for --key
    #[arg(long, value_name = "FILE")]
    pub to_passphrase_file: Option<PathBuf>,
    /// Encrypt even if DST holds files that do not open with the key of --to. The check opens at most 16 files of DST; there
    /// is none for standard input
    #[arg(long)]
    pub allow_mixed_keys: bool,
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

#[derive(Debug, Args)]
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
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

impl TreeArguments {
    /// The first of the sources, which is the only one mostly.
    pub fn source(&self) -> &Path {
        &self.sources[0]
    }

    /// What of the tree takes part.
    pub fn selection(&self) -> Result<Selection, cipherloom::Error> {
        Ok(Selection::new(&self.include, &self.exclude)?.in_shard(self.shard))
    }
}

#[derive(Debug, Args)]
pub struct OutputArguments {
    /// The folder (or file, if SRC is one) to write; `-` for standard output; s3://, gs:// or az://BUCKET/PREFIX
    #[arg(value_name = "DST", required = true)]
    pub destination: PathBuf,
    /// What to do where an output exists; `skip` resumes a stopped run
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "fail|skip|overwrite",
        hide_possible_values = true
    )]
    pub if_exists: IfExistsArgument,
    /// Skip symbolic links, or copy them as links. Links are not authenticated: `decrypt --links copy` refuses those that
    /// could lead out of DST, copy-all does not
    #[arg(long, value_enum, default_value_t, value_name = "skip|copy|copy-all", hide_possible_values = true)]
    pub links: LinksArgument,
    /// Give outputs exactly the permissions of their sources, which are not authenticated. Without it the umask applies
    #[arg(long, value_enum, value_name = "modes", hide_possible_values = true)]
    pub preserve: Option<PreserveArgument>,
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
pub struct FormatArguments {
    /// The format of the encrypted side
    #[arg(long, value_enum, default_value_t, help_heading = "Format and keys")]
    pub format: FormatName,
    /// Key file for tink: a keyset (JSON), plain or wrapped in an age file [env: CIPHERLOOM_KEY]
    #[arg(long, short = 'k', value_name = "FILE", help_heading = "Format and keys")]
    pub key: Option<PathBuf>,
    /// Refuse a key file whose key has another fingerprint (`keygen` and `inspect` show it; repeatable)
    #[arg(long, value_name = "FINGERPRINT", help_heading = "Format and keys")]
    pub expect_key: Vec<String>,
    /// Age identity file that opens a wrapped key file
    #[arg(long, value_name = "FILE", help_heading = "Format and keys")]
    pub identity: Option<PathBuf>,
    /// Allow tink keys with segments of up to N bytes, of which each thread holds one in memory [default: 64 MiB]
    #[arg(long, value_name = "N", help_heading = "Format and keys")]
    pub max_segment_size: Option<u32>,
    /// Read the passphrase from the first line of FILE, `-` for standard input (else CIPHERLOOM_PASSPHRASE, else a prompt)
    #[arg(long, value_name = "FILE", help_heading = "Format and keys")]
    pub passphrase_file: Option<PathBuf>,
    /// Key file for raw and cobblestone: hex digits, or the bytes themselves
    #[arg(long, value_name = "FILE", help_heading = "Format and keys")]
    pub raw_key: Option<PathBuf>,
    /// Cipher for raw and openssl
    #[arg(long, value_enum, value_name = "CIPHER", help_heading = "Format and keys")]
    pub cipher: Option<CipherName>,
    /// Fixed initialisation vector for raw, 32 hex digits; default: random, in front of each file
    #[arg(long, value_name = "HEX", help_heading = "Format and keys")]
    pub iv: Option<String>,
    /// Allow one fixed --iv for several files in CTR mode, which reveals their XOR to anybody
    #[arg(long, help_heading = "Format and keys")]
    pub reuse_keystream_and_reveal_plaintext: bool,
    /// Iterations of PBKDF2 for openssl [default: 600000; openssl's own is 10000]
    #[arg(
        long,
        value_name = "N",
        value_parser = positive::<NonZeroU32>,
        help_heading = "Format and keys"
    )]
    pub pbkdf2_iterations: Option<NonZeroU32>,
    /// Context for cobblestone; must be the same for decryption
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        help_heading = "Format and keys"
    )]
    pub context: String,
    /// Bind each file's relative path to its ciphertext (tink, cobblestone): a file moved or renamed no longer opens
    #[arg(long, help_heading = "Format and keys")]
    pub bind_path: bool,
}

#[derive(Debug, Args)]
pub struct MachineArguments {
    /// Worker threads; default: as many as pay on this machine for this tree
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>, help_heading = "Running")]
    pub threads: Option<NonZeroUsize>,
    /// AES backend; default: the best that this CPU has (`cipherloom devices` lists them)
    #[arg(long, value_name = "NAME", help_heading = "Running")]
    pub backend: Option<String>,
}

#[derive(Debug, Args)]
pub struct StoreArguments {
    /// Objects of a store that are read and written at once
    #[arg(
        long,
        value_name = "N",
        value_parser = positive::<NonZeroUsize>,
        default_value = "64",
        help_heading = "Running",
        hide = cfg!(not(feature = "stores"))
    )]
    pub in_flight: NonZeroUsize,
    /// How often a request that a store could not answer is repeated, with waits that double
    #[arg(long, value_name = "N", default_value = "10", help_heading = "Running", hide = cfg!(not(feature = "stores")))]
    pub retries: usize,
}

#[derive(Debug, Args)]
pub struct CommonArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub stores: StoreArguments,
    /// Succeed if there is nothing to do
    #[arg(long, help_heading = "Running")]
    pub allow_empty: bool,
    /// Print one JSON object a line for each entry, then a summary object
    #[arg(long, help_heading = "Running")]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, help_heading = "Running", conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print a line for each file, and the plan
    #[arg(long, short, help_heading = "Running")]
    pub verbose: bool,
}

pub(super) fn positive<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "give a whole number, at least 1")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum FormatName {
    /// Tink Streaming AEAD
    #[default]
    Tink,
    /// C2SP chunked encryption
    Cobblestone,
    /// What `openssl enc -pbkdf2 -salt` writes
    Openssl,
    /// AES in CBC or CTR mode and nothing else
    Raw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum IfExistsArgument {
    #[default]
    Fail,
    Skip,
    Overwrite,
}

impl From<IfExistsArgument> for cipherloom::IfExists {
    fn from(argument: IfExistsArgument) -> cipherloom::IfExists {
        match argument {
            IfExistsArgument::Fail => cipherloom::IfExists::Fail,
            IfExistsArgument::Skip => cipherloom::IfExists::Skip,
            IfExistsArgument::Overwrite => cipherloom::IfExists::Overwrite,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LinksArgument {
    #[default]
    Skip,
    Copy,
    CopyAll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PreserveArgument {
    Modes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CipherName {
    #[value(name = "aes-128-cbc")]
    Aes128Cbc,
    #[value(name = "aes-192-cbc")]
    Aes192Cbc,
    #[value(name = "aes-256-cbc")]
    Aes256Cbc,
    #[value(name = "aes-128-ctr")]
    Aes128Ctr,
    #[value(name = "aes-192-ctr")]
    Aes192Ctr,
    #[value(name = "aes-256-ctr")]
    Aes256Ctr,
}
