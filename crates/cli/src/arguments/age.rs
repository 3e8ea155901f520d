//! Arguments of the format age that only encryption has, and how a command's format is decided.

use super::{FormatArguments, FormatName};
use crate::exit_code::usage;
use crate::keys;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Format and keys")]
pub struct RecipientArguments {
    /// Encrypt for this recipient (age): age1…, age1NAME1… of a plugin, "ssh-ed25519 …" or "ssh-rsa …" (repeatable)
    #[arg(long, short = 'r', value_name = "RECIPIENT")]
    pub recipient: Vec<String>,
    /// Encrypt for the recipients in FILE (age), one a line (repeatable)
    #[arg(long, short = 'R', value_name = "FILE")]
    pub recipients_file: Vec<PathBuf>,
    /// Write age files as text (armor); for single files and standard output
    #[arg(long)]
    pub armor: bool,
}

impl RecipientArguments {
    /// Whether files or keys are to be encrypted for anybody.
    pub fn is_given(&self) -> bool {
        !self.recipient.is_empty() || !self.recipients_file.is_empty()
    }

    /// Refuses options that have no effect in another format. `wraps`: recipients are of use, for a new key.
    pub fn refuse_outside_age(&self, format: FormatName, wraps: bool) -> anyhow::Result<()> {
        let options = [
            ("--recipient", !self.recipient.is_empty() && !wraps),
            ("--recipients-file", !self.recipients_file.is_empty()),
            ("--armor", self.armor),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given && format != FormatName::Age) {
            None => Ok(()),
            Some((option, _)) => {
                let hint = "give --format age";
                Err(usage(format!("{option} cannot be used with --format {}", format.name()), hint))
            }
        }
    }
}

impl FormatArguments {
    /// Decides the format where none is named. `is_for_age`: there are recipients to encrypt for. `has_other_key`: a key is
    /// named elsewhere.
    pub fn decide_format(&mut self, is_for_age: bool, has_other_key: bool) {
        let has_secret = !self.secrets.identity.is_empty() || self.passphrase;
        let has_key = has_other_key || self.raw_key.is_some() || keys::named_key_file(self).is_some();
        let is_age = is_for_age || (has_secret && !has_key);
        self.format = self.given_format.unwrap_or(if is_age { FormatName::Age } else { FormatName::Tink });
    }
}

impl FormatName {
    /// As `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            FormatName::Tink => "tink",
            FormatName::Cobblestone => "cobblestone",
            FormatName::Age => "age",
            FormatName::Openssl => "openssl",
            FormatName::Raw => "raw",
        }
    }
}
