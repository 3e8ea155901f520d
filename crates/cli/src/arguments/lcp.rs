//! Arguments of `cipherloom lcp …`: Readium LCP.

use super::{Deferred, IfExistsArguments, InspectArguments, ReportArguments, named_values, positive};
use cipherloom_lcp::notification::Generation;
use clap::{Args, Subcommand};
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum LcpCommand {
    /// Protect publications: EPUB, Readium packages, PDF
    Encrypt(Deferred<LcpEncryptArguments>),
    /// Make licenses of the basic profile (for tests: they protect nothing)
    License(Deferred<LcpLicenseArguments>),
    /// Check publications and licenses, whole libraries of them
    Check(Deferred<LcpCheckArguments>),
    /// Notify license servers of publications: of named ones again, or of all that are pending
    Notify(Deferred<LcpNotifyArguments>),
    /// Open a publication with its passphrase (basic profile)
    Decrypt(Deferred<LcpDecryptArguments>),
    /// Show what a publication or license holds; needs no key
    Inspect(Deferred<InspectArguments>),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom lcp encrypt book.epub --out protected
  cipherloom lcp encrypt catalogue --out protected --key-file keys.json --if-exists skip    resume a stopped run
  cipherloom lcp encrypt catalogue --out protected --notify https://lcp.example.com --notify-login login.txt
      --public-url https://books.example.com
  cipherloom lcp encrypt book.epub --out protected --update    a new edition under the old key")]
pub struct LcpEncryptArguments {
    /// Publications, or folders to search for them
    #[arg(value_name = "BOOK|DIR", required = true)]
    pub sources: Vec<PathBuf>,
    /// The folder for the protected publications; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The file for content keys: a JSON record is appended before its book gets its name (the mode is set to 0600)
    #[arg(long, value_name = "FILE", default_value = "keys.json")]
    pub key_file: PathBuf,
    #[command(flatten)]
    pub if_exists: IfExistsArguments,
    /// Protect new editions of publications under their identifiers and keys in the key file, so that licenses stay valid;
    /// outputs are replaced, and license servers are sent an update
    #[arg(long, conflicts_with = "if_exists")]
    pub update: bool,
    /// The identifier of the only BOOK, for a license server of v2 a UUID; default: a random UUID
    #[arg(long, value_name = "ID", value_parser = identifier)]
    pub id: Option<String>,
    /// The shop's identifier of the only BOOK; default: its file name without the extension, preceded by its folders if
    /// several books have that name
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub alt_id: Option<String>,
    /// Take the content key of the only BOOK from the first line of FILE (32 bytes in base64); default: a random key
    #[arg(long, value_name = "FILE")]
    pub content_key_file: Option<PathBuf>,
    /// Skip the SHA-256 of sources and outputs, which takes most of the time for large books
    #[arg(long)]
    pub no_checksum: bool,
    /// Force outputs and their names to stable storage before the run ends (keys always are)
    #[arg(long)]
    pub durable: bool,
    /// Compression level for text that the source stores uncompressed: 1 (fast) to 9 (small)
    #[arg(long, value_name = "LEVEL", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub level: u32,
    /// Notify this license server of each book and its key (https, or http on this machine)
    #[arg(long, value_name = "URL", help_heading = "License server")]
    pub notify: Option<String>,
    /// Allow http to another machine: anybody on the network path can read the keys and the password
    #[arg(long, requires = "notify", help_heading = "License server")]
    pub allow_http: bool,
    /// Read `user:password` for the license server from the first line of FILE
    #[arg(long, value_name = "FILE", requires = "notify", help_heading = "License server")]
    pub notify_login: Option<PathBuf>,
    /// Append each notification to FILE, one JSON object a line (the mode is set to 0600: it holds the keys)
    #[arg(long, value_name = "FILE", help_heading = "License server")]
    pub notify_file: Option<PathBuf>,
    /// The license server's generation: v1 (PUT /contents/ID) or v2 (POST /publications)
    #[arg(long, default_value = "v2", value_name = "v1|v2", help_heading = "License server")]
    #[arg(value_parser = named_values([("v1", Generation::V1), ("v2", Generation::V2)]), hide_possible_values = true)]
    pub notify_version: Generation,
    /// The URL under which readers find the output folder's files (http or https); required for v2, for v1 the default is
    /// the folder's absolute path
    #[arg(long, value_name = "URL", help_heading = "License server")]
    pub public_url: Option<String>,
    /// The provider's URI, for v2
    #[arg(long, value_name = "URI", help_heading = "License server")]
    pub provider: Option<String>,
    #[command(flatten)]
    pub running: RunningArguments,
    /// AES backend; default: the best that this CPU has (`cipherloom devices` lists them)
    #[arg(long, value_name = "NAME", help_heading = "Running")]
    pub backend: Option<String>,
    /// Print a line for each book
    #[arg(long, short, help_heading = "Running", conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A publication is pending if it was protected with --notify and its server was not notified, or refused.
With --pending it is not sent if its output is missing or holds another publication. If the output was
moved, give the publication's identifier.

Examples:
  cipherloom lcp notify --key-file keys.json --pending --notify-login login.txt
  cipherloom lcp notify --key-file keys.json 3f1c52c4-1dd1-4bd5-8d9a-6bb9dfdf4f0a")]
pub struct LcpNotifyArguments {
    /// Identifiers of publications to notify the server of, even if it was notified before
    #[arg(value_name = "ID", required_unless_present = "pending", conflicts_with = "pending")]
    pub ids: Vec<String>,
    /// Send all pending notifications
    #[arg(long)]
    pub pending: bool,
    /// The key file that `lcp encrypt` wrote; sent notifications are recorded there
    #[arg(long, value_name = "FILE", default_value = "keys.json")]
    pub key_file: PathBuf,
    /// The license server; default: the server of the run that protected the publication
    #[arg(long, value_name = "URL")]
    pub notify: Option<String>,
    /// Read `user:password` for the license server from the first line of FILE
    #[arg(long, value_name = "FILE")]
    pub notify_login: Option<PathBuf>,
    /// Allow http to another machine: anybody on the network path can read the keys and the password
    #[arg(long)]
    pub allow_http: bool,
    #[command(flatten)]
    pub report: ReportArguments,
}

/// What is safe in URLs and file names.
fn identifier(text: &str) -> Result<String, String> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if text.is_empty() || text.len() > 100 || text.starts_with('.') || !text.bytes().all(is_safe) {
        return Err("an identifier has 1 to 100 letters, digits, `-`, `_`, `:` and `.`".to_owned());
    }
    Ok(text.to_owned())
}

const BASIC: &str = "\
Licenses of the basic profile protect nothing, since their key derivation is public: they are for
tests. Real protection needs a certified license server, which makes licenses for the publications
that `cipherloom lcp encrypt` writes.";

fn license_help() -> String {
    format!(
        "\
The manifest is a CSV file whose first line names its columns: `publication` (its identifier in the
key file, or its file name), one of `passphrase_file`, `passphrase_sha256` (hex digits) and
`passphrase`, and as needed `output` (a file name), `hint`, `user`, `user_name`, `user_email`,
`rights_start`, `rights_end`, `rights_print`, `rights_copy`, `publication_url`, `hint_url`,
`status_url`. An empty field takes the option's value.

{BASIC}

Examples:
  cipherloom lcp license protected/book.epub --key-file keys.json --passphrase-file p.txt --embed
      --hint \"the first word\" --provider https://provider.example.com
      --cert cert.pem --private-key key.pem
  cipherloom lcp license --manifest licenses.csv --out licenses --key-file keys.json
      --hint \"your library card\" --provider https://provider.example.com
      --cert cert.pem --private-key key.pem"
    )
}

#[derive(Debug, Args)]
#[command(after_help = license_help())]
pub struct LcpLicenseArguments {
    /// The protected publication
    #[arg(value_name = "PUB", required_unless_present = "manifest", conflicts_with = "manifest")]
    pub publication: Option<PathBuf>,
    /// Make a license for each row of this CSV file
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with = "embed")]
    pub manifest: Option<PathBuf>,
    /// Where to write: a file (default: PUB with the extension .lcpl), with --manifest a folder
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "embed")]
    pub out: Option<PathBuf>,
    /// Put the license into PUB, in place: it is appended, nothing of PUB moves. One that is inside already is replaced only
    /// with `--if-exists overwrite`
    #[arg(long)]
    pub embed: bool,
    /// The content keys, as `lcp encrypt` wrote them
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    #[command(flatten)]
    pub if_exists: IfExistsArguments,
    /// The provider's certificate (X.509, PEM or DER)
    #[arg(long, value_name = "FILE", help_heading = "Provider")]
    pub cert: PathBuf,
    /// The certificate's private key (RSA or ECDSA P-256; PEM or DER, not encrypted)
    #[arg(long, value_name = "FILE", help_heading = "Provider")]
    pub private_key: PathBuf,
    /// The provider that issues the license
    #[arg(long, value_name = "URI", help_heading = "Provider")]
    pub provider: String,
    /// Read the passphrase from the first line of FILE (else CIPHERLOOM_PASSPHRASE, else a prompt)
    #[arg(long, value_name = "FILE", help_heading = "Reader")]
    pub passphrase_file: Option<PathBuf>,
    /// The hint that reminds the reader of the passphrase
    #[arg(long, value_name = "TEXT", help_heading = "Reader")]
    pub hint: Option<String>,
    /// Identifies the reader at this provider
    #[arg(long, value_name = "ID", help_heading = "Reader")]
    pub user: Option<String>,
    /// The reader's name
    #[arg(long, value_name = "NAME", help_heading = "Reader")]
    pub user_name: Option<String>,
    /// The reader's email address
    #[arg(long, value_name = "EMAIL", help_heading = "Reader")]
    pub user_email: Option<String>,
    /// Which of these the license holds encrypted
    #[arg(long, value_name = "name,email", value_delimiter = ',', value_parser = ["name", "email"])]
    #[arg(default_value = "name,email", hide_possible_values = true, help_heading = "Reader")]
    pub encrypt_user: Vec<String>,
    #[command(flatten)]
    pub rights: RightsArguments,
    /// Where the publication can be fetched; {publication_id} is replaced (default: PROVIDER/{publication_id})
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub publication_url: Option<String>,
    /// A page about the passphrase; {license_id} is replaced (default: PROVIDER)
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub hint_url: Option<String>,
    /// Where the license's status document is; {license_id} is replaced
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub status_url: Option<String>,
    #[command(flatten)]
    pub running: RunningArguments,
}

/// What the reader may do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rights (unlimited unless given)")]
pub struct RightsArguments {
    /// First moment of reading: 2026-11-04 or 2026-11-04T01:08:15Z
    #[arg(long, value_name = "DATE")]
    pub rights_start: Option<String>,
    /// Last moment of reading
    #[arg(long, value_name = "DATE")]
    pub rights_end: Option<String>,
    /// Pages that may be printed
    #[arg(long, value_name = "N")]
    pub rights_print: Option<i64>,
    /// Characters that may be copied
    #[arg(long, value_name = "N")]
    pub rights_copy: Option<i64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without --passphrase-file no resource is opened: the license's signature, certificate and dates are
checked, and each archive against its CRC-32. Passphrases can be tried for the basic profile only.
Revocation lists are not read.

Examples:
  cipherloom lcp check book.epub --passphrase-file p.txt --root-ca root.pem
  cipherloom lcp check library --json | jq 'select(.event == \"unsound\")'")]
pub struct LcpCheckArguments {
    /// Publications, licenses (.lcpl), or folders to search for them
    #[arg(value_name = "PUB|LICENSE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Open every resource with the passphrase on the first line of FILE
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Root certificates of the license authority (PEM or DER): one of them must confirm each certificate
    #[arg(long, value_name = "FILE")]
    pub root_ca: Option<PathBuf>,
    /// The license of publications that have none inside
    #[arg(long, value_name = "FILE")]
    pub license: Option<PathBuf>,
    #[command(flatten)]
    pub running: RunningArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A license that is unsigned, has ended or belongs to another reader opens nothing. The output has the
entries of the publication before protection; a PDF comes back inside its package.

Example:
  cipherloom lcp decrypt protected/book.epub --passphrase-file p.txt --out book.epub")]
pub struct LcpDecryptArguments {
    /// The protected publication
    #[arg(value_name = "PUB")]
    pub publication: PathBuf,
    /// The file to write
    #[arg(long, value_name = "BOOK")]
    pub out: PathBuf,
    /// Read the passphrase from the first line of FILE (else CIPHERLOOM_PASSPHRASE, else a prompt)
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Root certificates of the license authority (PEM or DER): one of them must confirm the certificate
    #[arg(long, value_name = "FILE")]
    pub root_ca: Option<PathBuf>,
    /// A license to use instead of the one inside
    #[arg(long, value_name = "FILE")]
    pub license: Option<PathBuf>,
    #[command(flatten)]
    pub if_exists: IfExistsArguments,
    #[command(flatten)]
    pub running: RunningArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct RunningArguments {
    /// Worker threads; default: as many as speed up this run on this machine
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub report: ReportArguments,
}

impl RunningArguments {
    /// The number of threads to use.
    pub fn workers(&self) -> NonZeroUsize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}
