//! The command line, as types. Each command's arguments stand in a file of their own.

mod keygen;
mod keys;
mod lcp;
mod lcp_licence;
mod transform;

pub use keygen::KeygenArguments;
pub use keys::{
    KeyFileArguments, KeysAddArguments, KeysArguments, KeysCommand, KeysIdArguments, KeysListArguments,
    KeysPassphraseArguments,
};
pub use lcp::{LcpArguments, LcpCommand, LcpEncryptArguments, LcpNotifyArguments, NotifyVersion};
pub use lcp_licence::{
    LcpCheckArguments, LcpDecryptArguments, LcpInspectArguments, LcpLicenseArguments, RunningArguments,
};
pub use transform::{
    CipherName, CommonArguments, DecryptArguments, EncryptArguments, FloorArguments, FormatArguments,
    FormatName, IfExistsArgument, LinksArgument, MachineArguments, OutputArguments, PreserveArgument,
    RekeyArguments, StoreArguments, TreeArguments, VerifyArguments,
};

use crate::exit_code::ExitCode;
use cipherloom::key::Template;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Encrypt, verify, decrypt and re-key trees of files on every core, in formats that others can open.
#[derive(Debug, Parser)]
#[command(name = "cipherloom", version, max_term_width = 100, arg_required_else_help = true, after_help = overview())]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  cipherloom encrypt books sealed --new-key key.json   make a key and encrypt a folder with it
  cipherloom verify  sealed --key key.json             check every byte, write nothing
  cipherloom decrypt sealed opened --key key.json      get the files back

`cipherloom help COMMAND` tells more about each command, `cipherloom man` prints the manual page.";

/// Whoever names one path has forgotten the last one. The parser takes that for the destination, since sources may be
/// several, and would ask for a source.
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
    Keygen(KeygenArguments),
    /// Show and change key files: more keys, another primary key, another passphrase
    Keys(KeysArguments),
    /// Encrypt a file or a folder
    Encrypt(EncryptArguments),
    /// Decrypt a file or a folder
    Decrypt(DecryptArguments),
    /// Authenticate every byte of a file or a folder, writing nothing
    Verify(VerifyArguments),
    /// Decrypt and encrypt under another key in one pass; no plaintext touches the disk
    Rekey(RekeyArguments),
    /// Readium LCP: protect e-books, make and check licences
    Lcp(LcpArguments),
    /// Show what would run where, with which lanes, segments and buffers, and why
    Plan(PlanArguments),
    /// Tell what can be told of a file without its key
    Inspect(InspectArguments),
    /// List this machine's CPU, its features, backends for AES, and GPUs
    Devices(DevicesArguments),
    /// Measure this machine's fixed costs once, for better plans
    Calibrate(CalibrateArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete for
        #[arg(value_parser = clap::builder::EnumValueParser::<clap_complete::Shell>::new())]
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff): `cipherloom man | man -l -`
    Man,
    /// The same way through the pipeline without a cipher: what the other commands are measured against
    #[command(hide = true)]
    Floor(FloorArguments),
}

/// Key templates by name, so that help and completions list them.
pub(crate) fn template_values() -> impl TypedValueParser<Value = Template> {
    PossibleValuesParser::new(Template::ALL.map(Template::name)).try_map(|name| name.parse::<Template>())
}

impl Command {
    /// Whether the user wants errors only of a command over a tree.
    pub fn is_quiet(&self) -> bool {
        match self {
            Command::Encrypt(arguments) => arguments.common.quiet,
            Command::Decrypt(arguments) => arguments.common.quiet,
            Command::Verify(arguments) => arguments.common.quiet,
            Command::Rekey(arguments) => arguments.common.quiet,
            Command::Floor(arguments) => arguments.common.quiet,
            _ => false,
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
    #[arg(long, value_enum, value_name = "CIPHER")]
    pub cipher: Option<CipherName>,
    /// Iterations of PBKDF2, for openssl
    #[arg(long, value_name = "N", value_parser = transform::positive::<NonZeroU32>, default_value = "600000")]
    pub pbkdf2_iterations: NonZeroU32,
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub stores: StoreArguments,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
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
