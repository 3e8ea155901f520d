//! Arguments of `cipherloom keys`.

use super::template_values;
use cipherloom::key::Template;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct KeysArguments {
    #[command(subcommand)]
    pub command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Show the keys in a key file, without their secrets
    List(KeysListArguments),
    /// Add a new key to a key file
    Add(KeysAddArguments),
    /// Choose the key that encrypts from now on
    Promote(KeysIdArguments),
    /// Stop using a key; it stays in the file
    Disable(KeysIdArguments),
    /// Use a disabled key again
    Enable(KeysIdArguments),
    /// Change the passphrase of a key file
    Passphrase(KeysPassphraseArguments),
}

#[derive(Debug, Args)]
pub struct KeyFileArguments {
    /// The key file; the one it replaces stays beside it as FILE.old
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Age identity file that opens the key file
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
    /// Read the key file's passphrase from the first line of FILE, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct KeysListArguments {
    #[command(flatten)]
    pub key_file: KeyFileArguments,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keys add key.json                 the new key decrypts; the old one still encrypts
  cipherloom keys add key.json --primary       the new key encrypts, both decrypt
  cipherloom rekey sealed sealed --key key.json --to key.json --if-exists overwrite
                                               then every file gets the new key")]
pub struct KeysAddArguments {
    #[command(flatten)]
    pub key_file: KeyFileArguments,
    /// Kind and segment size of the key
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = template_values())]
    pub template: Template,
    /// Make the new key the one that encrypts
    #[arg(long)]
    pub primary: bool,
    /// Wrap the new file for the owner of this age public key (repeatable); needed if the old one is wrapped for recipients
    #[arg(long, value_name = "AGE1…")]
    pub recipient: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keys list key.json
  cipherloom keys promote key.json 3102697502
  cipherloom keys disable key.json 1742061253")]
pub struct KeysIdArguments {
    #[command(flatten)]
    pub key_file: KeyFileArguments,
    /// The key's identifier, as `cipherloom keys list FILE` shows it
    #[arg(value_name = "ID")]
    pub id: u32,
    /// Wrap the new file for the owner of this age public key (repeatable); needed if the old one is wrapped for recipients
    #[arg(long, value_name = "AGE1…")]
    pub recipient: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keys passphrase key.age
  cipherloom keys passphrase key.age --passphrase-file old.txt --new-passphrase-file new.txt

A plain key file is wrapped. Delete FILE.old when the new passphrase is safely noted: it opens with the old one.")]
pub struct KeysPassphraseArguments {
    #[command(flatten)]
    pub key_file: KeyFileArguments,
    /// Read the new passphrase from the first line of FILE, `-` for standard input (its next line, if the old one is there too)
    #[arg(long, value_name = "FILE")]
    pub new_passphrase_file: Option<PathBuf>,
}
