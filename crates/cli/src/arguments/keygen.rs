//! Arguments of `cipherloom keygen`.

use cipherloom::key::Template;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keygen -o key.json                         a plain keyset, readable by you alone
  cipherloom keygen -o key.age --passphrase             wrapped: asks for a passphrase
  cipherloom keygen -o key.age --recipient age1...      wrapped for somebody's age key (repeatable)")]
pub struct KeygenArguments {
    /// The key file to make; never overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Kind and segment size of the key
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = super::template_values())]
    pub template: Template,
    /// Wrap the keyset with a passphrase (asked for, or from --passphrase-file or CIPHERLOOM_PASSPHRASE)
    #[arg(long, conflicts_with = "recipient")]
    pub passphrase: bool,
    /// Wrap the keyset with the passphrase on the first line of FILE
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    pub passphrase_file: Option<PathBuf>,
    /// Wrap the keyset for the owner of this age public key (repeatable)
    #[arg(long, value_name = "AGE1…")]
    pub recipient: Vec<String>,
}
