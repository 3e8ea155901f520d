//! The command line, as types.

mod age;
mod deferred;
mod index;
mod keys;
mod lcp;
mod transform;

pub use age::RecipientArguments;
pub use deferred::Deferred;
pub use index::*;
pub use keys::*;
pub use lcp::*;
pub use transform::*;

use crate::exit_code::ExitCode;
use crate::report::Style;
use cipherloom::IfExists;
use cipherloom::format::Cipher;
use cipherloom::key::Template;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// Encrypt, verify, decrypt and re-key trees of files on every core, in formats that others can open.
#[derive(Debug, Parser)]
#[command(name = "cipherloom", version, max_term_width = 100, arg_required_else_help = true, after_help = overview())]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const LCP_PROFILES: &str = "\
Protected publications do not depend on the encryption profile: a certified license server makes
licenses for what `cipherloom lcp encrypt` writes. Licenses of the basic profile protect nothing
(their key derivation is public): they are for tests.";

const EXAMPLES: &str = "\
Examples:
  cipherloom encrypt books sealed --new-key key.json   make a key and encrypt a folder with it
  cipherloom verify  sealed --key key.json             check every byte, write nothing
  cipherloom decrypt sealed opened --key key.json      get the files back

`cipherloom help COMMAND` shows a command's options, `cipherloom man` prints the manual page.";

/// Names the destination as missing where only one path is given. The parser takes that path for the destination, since
/// there may be several sources, and would ask for a source.
pub fn with_missing_destination(mut error: clap::Error) -> clap::Error {
    const SOURCES: &str = "<SRC>...";
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.clone(),
        _ => return error,
    };
    let writes = error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("<DST>"));
    if writes && missing.iter().any(|name| name == SOURCES) && missing.iter().all(|name| name != "<DST>") {
        let rename = |name: String| if name == SOURCES { "<DST>".to_owned() } else { name };
        let missing = missing.into_iter().map(rename).collect();
        error.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
    }
    error
}

/// Examples and exit codes, below the list of commands.
fn overview() -> String {
    let mut text = format!("{EXAMPLES}\n\nExit codes:");
    for (code, meaning) in ExitCode::ALL {
        let _ = write!(text, "\n  {:>3}  {meaning}", code as u8);
    }
    text
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key file (a Tink keyset), plain or wrapped with age
    Keygen(Deferred<KeygenArguments>),
    /// Show and change key files: more keys, another primary key, another passphrase
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Encrypt a file or a folder
    Encrypt(Deferred<EncryptArguments>),
    /// Decrypt a file or a folder
    Decrypt(Deferred<DecryptArguments>),
    /// Authenticate every byte of a file or a folder, writing nothing
    Verify(Deferred<VerifyArguments>),
    /// Decrypt and encrypt under another key in one pass; no plaintext touches the disk
    Rekey(Deferred<RekeyArguments>),
    /// Encrypt what is new or changed in a folder, by the encrypted folder's index
    Sync(Deferred<SyncArguments>),
    /// Make or rebuild the sealed index of an encrypted tree from its files
    Index(Deferred<IndexArguments>),
    /// List what the index of an encrypted tree lists
    List(Deferred<ListArguments>),
    /// Readium LCP: protect e-books, make and check licenses
    #[command(subcommand, after_help = LCP_PROFILES)]
    Lcp(LcpCommand),
    /// Show what would run where, with which lanes, segments and buffers, and why
    Plan(Deferred<PlanArguments>),
    /// Show the format and header of a file; needs no key
    Inspect(Deferred<InspectArguments>),
    /// List this machine's CPU, its features, backends for AES, and GPUs
    Devices(Deferred<DevicesArguments>),
    /// Measure this machine's fixed costs once, for better plans
    Calibrate(Deferred<CalibrateArguments>),
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete for
        #[arg(value_parser = clap::builder::EnumValueParser::<clap_complete::Shell>::new())]
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff): `cipherloom man | man -l -`
    Man,
    /// Copy through the same pipeline without a cipher, as a baseline for measurements
    #[command(hide = true)]
    Floor(Deferred<FloorArguments>),
}

/// Parses one of these names; help and completions list them.
pub(crate) fn named_values<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.map(|(name, _)| name)).try_map(move |given: String| {
        let is_given = |(name, _): &&(&str, T)| name.eq_ignore_ascii_case(&given);
        values.iter().find(is_given).map(|(_, value)| *value).ok_or("unknown value")
    })
}

fn template_values() -> impl TypedValueParser<Value = Template> {
    named_values(Template::ALL.map(|template| (template.name(), template)))
}

fn positive<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "give a whole number, at least 1")
}

/// What a run does where an output exists.
#[derive(Debug, Args)]
pub struct IfExistsArguments {
    /// What to do where an output exists; `skip` resumes a stopped run
    #[arg(long, default_value = "fail", value_name = "fail|skip|overwrite", hide_possible_values = true)]
    #[arg(value_parser = named_values([("fail", IfExists::Fail), ("skip", IfExists::Skip), ("overwrite", IfExists::Overwrite)]))]
    pub if_exists: IfExists,
}

/// What a run prints.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct ReportArguments {
    /// Print one JSON object a line for each item, then a summary object
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

impl ReportArguments {
    /// How much is printed.
    pub fn style(&self, is_verbose: bool) -> Style {
        match self {
            ReportArguments { json: true, .. } => Style::Json,
            ReportArguments { quiet: true, .. } => Style::Quiet,
            _ if is_verbose => Style::Verbose,
            _ => Style::Plain,
        }
    }
}

impl Command {
    /// Decides the format of a command over a tree that names none: age where its recipients or secrets are given.
    pub fn decide_format(&mut self) {
        match self {
            Command::Encrypt(arguments) => {
                let makes_key = arguments.new_key.is_some();
                let is_for_age = arguments.recipients.is_given() && !makes_key;
                arguments.format.decide_format(is_for_age, makes_key);
            }
            Command::Decrypt(arguments) => arguments.format.decide_format(false, false),
            Command::Verify(arguments) => arguments.format.decide_format(false, false),
            Command::Sync(arguments) => arguments.format.decide_format(false, false),
            Command::Index(arguments) => arguments.format.decide_format(false, false),
            Command::List(arguments) => arguments.format.decide_format(false, false),
            Command::Rekey(arguments) => {
                let (is_for_age, has_new_key) = (arguments.recipients.is_given(), arguments.to.is_some());
                arguments.format.decide_format(is_for_age, has_new_key);
            }
            _ => {}
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom plan books
  cipherloom plan books --format raw --cipher aes-128-cbc --threads 8")]
pub struct PlanArguments {
    #[command(flatten)]
    pub tree: TreeArguments,
    /// The format of the encrypted side
    #[arg(long, value_enum, default_value_t)]
    pub format: FormatName,
    /// Kind and segment size of the key, for tink
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = template_values())]
    pub template: Template,
    /// Cipher for raw and openssl
    #[arg(long, value_name = "CIPHER", value_parser = cipher_values())]
    pub cipher: Option<Cipher>,
    /// Iterations of PBKDF2, for openssl
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU32>, default_value = "600000")]
    pub pbkdf2_iterations: NonZeroU32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub stores: StoreArguments,
}

#[derive(Debug, Args)]
pub struct InspectArguments {
    /// The file to look at
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DevicesArguments {
    /// Check every GPU against the CPU under validation layers, and show what these say
    #[arg(long, hide = cfg!(not(feature = "gpu")))]
    pub validate: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// Where to write the small files to measure with; default: the folder for temporary files
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
