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
  cipherloom lcp encrypt catalogue --out protected --notify https://lcp.example.com --notify-login login.txt")]
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
    /// Leave out the SHA-256 of sources and outputs, which is most of the work for large books
    #[arg(long)]
    pub no_checksum: bool,
    /// Force outputs and their names to stable storage before the run ends; keys always are, before their books get names
    #[arg(long)]
    pub durable: bool,
    /// How hard text that the source stores uncompressed is deflated: 1 (fast) to 9 (small)
    #[arg(long, value_name = "LEVEL", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub level: u32,
    /// Tell this licence server of each book and its key
    #[arg(long, value_name = "URL", help_heading = "Licence server")]
    pub notify: Option<String>,
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
    /// Where readers will find the output folder's files; default: the folder's absolute path
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
