//! Arguments of `cipherloom lcp …`: Readium LCP.

use super::lcp_licence::{LcpCheckArguments, LcpDecryptArguments, LcpInspectArguments, LcpLicenseArguments};
use super::transform::{IfExistsArgument, positive};
use clap::{Args, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Protected publications do not depend on the encryption profile: a certified licence server makes
licences for what `cipherloom lcp encrypt` writes. Licences of the basic profile protect nothing
(its key derivation is public): they are for tests."
)]
pub struct LcpArguments {
    #[command(subcommand)]
    pub command: LcpCommand,
}

#[derive(Debug, Subcommand)]
pub enum LcpCommand {
    /// Protect publications: EPUB, Readium packages, PDF
    Encrypt(LcpEncryptArguments),
    /// Make licences of the basic profile (for tests: they protect nothing)
    License(Box<LcpLicenseArguments>),
    /// Check publications and licences, whole libraries of them
    Check(LcpCheckArguments),
    /// Notify licence servers of publications again, of all that they do not know yet
    Notify(LcpNotifyArguments),
    /// Open a publication with its passphrase (basic profile)
    Decrypt(LcpDecryptArguments),
    /// Tell what can be told of a publication or licence without a key
    Inspect(LcpInspectArguments),
}

/// A generation of licence servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum NotifyVersion {
    V1,
    #[default]
    V2,
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
    /// The folder for the protected publications; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Where the content keys go: a JSON record is appended before its book gets its name (mode 0600, set if it is not)
    #[arg(long, value_name = "FILE", default_value = "keys.json")]
    pub key_file: PathBuf,
    /// What to do where an output exists; `skip` resumes a stopped run
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "fail|skip|overwrite",
        hide_possible_values = true
    )]
    pub if_exists: IfExistsArgument,
    /// Protect new editions of publications under their identifiers and keys in the key file, so that licences stay valid;
    /// outputs are replaced, and licence servers are sent an update
    #[arg(long, conflicts_with = "if_exists")]
    pub update: bool,
    /// The identifier of the only BOOK, for a licence server of v2 a UUID; default: a random UUID
    #[arg(long, value_name = "ID", value_parser = identifier)]
    pub id: Option<String>,
    /// The shop's identifier of the only BOOK; default: its file's name without the extension, with its folders in front
    /// where several have that name
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub alt_id: Option<String>,
    /// Take the content key of the only BOOK from the first line of FILE (32 bytes in base64); default: a random key
    #[arg(long, value_name = "FILE")]
    pub content_key_file: Option<PathBuf>,
    /// Leave out the SHA-256 of sources and outputs, which is most of the work for large books
    #[arg(long)]
    pub no_checksum: bool,
    /// Force outputs and their names to stable storage before the run ends; keys always are, before their books get names
    #[arg(long)]
    pub durable: bool,
    /// How hard text that the source stores uncompressed is deflated: 1 (fast) to 9 (small)
    #[arg(long, value_name = "LEVEL", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub level: u32,
    /// Tell this licence server of each book and its key (https, or http on this machine)
    #[arg(long, value_name = "URL", help_heading = "Licence server")]
    pub notify: Option<String>,
    /// Send keys and password to an http server on another machine: whoever listens on the way has them
    #[arg(long, requires = "notify", help_heading = "Licence server")]
    pub allow_http: bool,
    /// Read `user:password` for the licence server from the first line of FILE
    #[arg(long, value_name = "FILE", requires = "notify", help_heading = "Licence server")]
    pub notify_login: Option<PathBuf>,
    /// Write what would be sent to FILE, one JSON object a line (mode 0600, set if it is not: it holds the keys)
    #[arg(long, value_name = "FILE", help_heading = "Licence server")]
    pub notify_file: Option<PathBuf>,
    /// The licence server's generation: v1 (PUT /contents/ID) or v2 (POST /publications)
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "v1|v2",
        hide_possible_values = true,
        help_heading = "Licence server"
    )]
    pub notify_version: NotifyVersion,
    /// Where readers will find the output folder's files (http or https); v2 needs it, for v1 the default is the folder's
    /// absolute path
    #[arg(long, value_name = "URL", help_heading = "Licence server")]
    pub public_url: Option<String>,
    /// The provider's URI, for v2
    #[arg(
        long,
        value_name = "URI",
        default_value = "",
        hide_default_value = true,
        help_heading = "Licence server"
    )]
    pub provider: String,
    /// Worker threads; default: as many as pay on this machine
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = positive::<NonZeroUsize>, help_heading = "Running")]
    pub jobs: Option<NonZeroUsize>,
    /// AES backend; default: the best that this CPU has (`cipherloom devices` lists them)
    #[arg(long, value_name = "NAME", help_heading = "Running")]
    pub backend: Option<String>,
    /// Print one JSON object a line for each book, then a summary object
    #[arg(long, help_heading = "Running")]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, help_heading = "Running", conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print a line for each book
    #[arg(long, short, help_heading = "Running")]
    pub verbose: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A publication is pending if it was protected with --notify, and its server was not told or refused. Where
its output is not there or is another publication's, it is not sent: name its identifier if the output
was moved.

Examples:
  cipherloom lcp notify --key-file keys.json --pending --notify-login login.txt
  cipherloom lcp notify --key-file keys.json 3f1c52c4-1dd1-4bd5-8d9a-6bb9dfdf4f0a")]
pub struct LcpNotifyArguments {
    /// Identifiers of publications to tell the server of, whether it was told before or not
    #[arg(value_name = "ID", required_unless_present = "pending", conflicts_with = "pending")]
    pub ids: Vec<String>,
    /// Tell servers of all publications that they were not told of
    #[arg(long)]
    pub pending: bool,
    /// The key file, as `lcp encrypt` wrote it; what was sent is noted there
    #[arg(long, value_name = "FILE", default_value = "keys.json")]
    pub key_file: PathBuf,
    /// The licence server; default: the one of the run that protected the publication
    #[arg(long, value_name = "URL")]
    pub notify: Option<String>,
    /// Read `user:password` for the licence server from the first line of FILE
    #[arg(long, value_name = "FILE")]
    pub notify_login: Option<PathBuf>,
    /// Send keys and password to an http server on another machine: whoever listens on the way has them
    #[arg(long)]
    pub allow_http: bool,
    /// Print one JSON object a line for each publication, then a summary object
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// What is safe in URLs and file names.
fn identifier(text: &str) -> Result<String, String> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if text.is_empty() || text.len() > 100 || text.starts_with('.') || !text.bytes().all(is_safe) {
        return Err("an identifier has 1 to 100 letters, digits, `-`, `_`, `:` and `.`".to_owned());
    }
    Ok(text.to_owned())
}
