//! Arguments of `cipherloom lcp license`, `check`, `decrypt` and `inspect`.

use super::transform::{IfExistsArgument, positive};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const BASIC: &str = "\
Licences of the basic profile protect nothing: how they make a key from a passphrase is public.
They are for tests. Real protection needs a certified licence server, which makes licences for what
`cipherloom lcp encrypt` writes.";

fn license_help() -> String {
    format!(
        "\
The manifest is a CSV file whose first line names its columns: `publication` (its identifier in the
key file, or its file name), one of `passphrase_file`, `passphrase_sha256` (hex digits) and
`passphrase`, and as needed `output` (a file name), `hint`, `user`, `user_name`, `user_email`,
`rights_start`, `rights_end`, `rights_print`, `rights_copy`, `publication_url`, `hint_url`,
`status_url`. What a row leaves empty is taken from the options.

{BASIC}

Examples:
  cipherloom lcp license protected/book.epub --key-file keys.json --passphrase-file p.txt --embed
      --hint \"the first word\" --provider https://provider.example.com
      --cert cert.pem --private-key key.pem
  cipherloom lcp license --manifest licences.csv --out licences --key-file keys.json
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
    /// Make a licence for each row of this CSV file
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with = "embed")]
    pub manifest: Option<PathBuf>,
    /// Where to write: a file (default: PUB with the extension .lcpl), with --manifest a folder
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "embed")]
    pub out: Option<PathBuf>,
    /// Put the licence into PUB, in place: it is appended, nothing of PUB moves. One that is inside already is replaced only
    /// with `--if-exists overwrite`
    #[arg(long)]
    pub embed: bool,
    /// The content keys, as `lcp encrypt` wrote them
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    /// What to do where an output exists
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "fail|skip|overwrite",
        hide_possible_values = true
    )]
    pub if_exists: IfExistsArgument,
    /// The provider's certificate (X.509, PEM or DER)
    #[arg(long, value_name = "FILE", help_heading = "Provider")]
    pub cert: PathBuf,
    /// The certificate's private key (RSA or ECDSA P-256; PEM or DER, not encrypted)
    #[arg(long, value_name = "FILE", help_heading = "Provider")]
    pub private_key: PathBuf,
    /// Who gives the licence
    #[arg(long, value_name = "URI", help_heading = "Provider")]
    pub provider: String,
    /// Read the passphrase from the first line of FILE (else CIPHERLOOM_PASSPHRASE, else a prompt)
    #[arg(long, value_name = "FILE", help_heading = "Reader")]
    pub passphrase_file: Option<PathBuf>,
    /// What reminds the reader of the passphrase
    #[arg(long, value_name = "TEXT", help_heading = "Reader")]
    pub hint: Option<String>,
    /// Identifies the reader at this provider
    #[arg(long, value_name = "ID", help_heading = "Reader")]
    pub user: Option<String>,
    /// The reader's name
    #[arg(long, value_name = "NAME", help_heading = "Reader")]
    pub user_name: Option<String>,
    /// The reader's address
    #[arg(long, value_name = "EMAIL", help_heading = "Reader")]
    pub user_email: Option<String>,
    /// Which of these the licence holds encrypted
    #[arg(
        long,
        value_name = "name,email",
        value_delimiter = ',',
        value_parser = ["name", "email"],
        default_value = "name,email",
        hide_possible_values = true,
        help_heading = "Reader"
    )]
    pub encrypt_user: Vec<String>,
    /// First moment of reading: 2026-11-04 or 2026-11-04T01:08:15Z
    #[arg(long, value_name = "DATE", help_heading = "Rights (all that is not given is not limited)")]
    pub rights_start: Option<String>,
    /// Last moment of reading
    #[arg(long, value_name = "DATE", help_heading = "Rights (all that is not given is not limited)")]
    pub rights_end: Option<String>,
    /// Pages that may be printed
    #[arg(long, value_name = "N", help_heading = "Rights (all that is not given is not limited)")]
    pub rights_print: Option<i64>,
    /// Characters that may be copied
    #[arg(long, value_name = "N", help_heading = "Rights (all that is not given is not limited)")]
    pub rights_copy: Option<i64>,
    /// Where the publication can be fetched; {publication_id} is replaced (default: PROVIDER/{publication_id})
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub publication_url: Option<String>,
    /// Where more about the passphrase is; {license_id} is replaced (default: PROVIDER)
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub hint_url: Option<String>,
    /// Where the licence's status document is; {license_id} is replaced
    #[arg(long, value_name = "URL", help_heading = "Links")]
    pub status_url: Option<String>,
    #[command(flatten)]
    pub running: RunningArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without --passphrase-file no resource is opened: licences are checked as far as that goes, and
archives against their CRC-32. Only the basic profile's passphrases can be tried. Revocation lists
are not looked at.

Examples:
  cipherloom lcp check book.epub --passphrase-file p.txt --root-ca root.pem
  cipherloom lcp check library --json | jq 'select(.event == \"unsound\")'")]
pub struct LcpCheckArguments {
    /// Publications, licences (.lcpl), or folders to search for them
    #[arg(value_name = "PUB|LICENSE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Open every resource with the passphrase on the first line of FILE
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Root certificates of the licence authority (PEM or DER): one of them must confirm each certificate
    #[arg(long, value_name = "FILE")]
    pub root_ca: Option<PathBuf>,
    /// The licence of publications that have none inside
    #[arg(long, value_name = "FILE")]
    pub license: Option<PathBuf>,
    #[command(flatten)]
    pub running: RunningArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A licence that is not signed, is over, or is another reader's opens nothing. The output's entries
are those that were protected; a PDF comes back inside its package.

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
    /// Root certificates of the licence authority (PEM or DER): one of them must confirm the certificate
    #[arg(long, value_name = "FILE")]
    pub root_ca: Option<PathBuf>,
    /// A licence to use instead of the one inside
    #[arg(long, value_name = "FILE")]
    pub license: Option<PathBuf>,
    /// What to do where the output exists
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "fail|skip|overwrite",
        hide_possible_values = true
    )]
    pub if_exists: IfExistsArgument,
    #[command(flatten)]
    pub running: RunningArguments,
}

#[derive(Debug, Args)]
pub struct LcpInspectArguments {
    /// The publication or licence to look at
    #[arg(value_name = "PUB|LICENSE")]
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunningArguments {
    /// Worker threads; default: as many as the machine has cores
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = positive::<NonZeroUsize>, help_heading = "Running")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON object a line for each item, then a summary object
    #[arg(long, help_heading = "Running")]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, help_heading = "Running")]
    pub quiet: bool,
}

impl RunningArguments {
    /// The number of threads to use.
    pub fn workers(&self) -> NonZeroUsize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}
