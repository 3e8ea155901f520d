//! Arguments of `cipherloom keygen` and `cipherloom keys`, and the options that open a wrapped key file.

use super::{Deferred, FormatName, named_values, template_values};
use cipherloom::key::Template;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What opens a key file that is wrapped.
#[derive(Debug, Default, Clone, Args)]
pub struct SecretArguments {
    /// Age identity file, age's own or an SSH private key (repeatable): opens age files or a wrapped key file; to encrypt
    /// age files, also for its own recipient
    #[arg(long, short = 'i', value_name = "FILE")]
    pub identity: Vec<PathBuf>,
    /// Read the passphrase from the first line of FILE, `-` for standard input (else CIPHERLOOM_PASSPHRASE, else a prompt)
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keygen -o key.json                         a plain keyset, readable by you alone
  cipherloom keygen -o key.age --passphrase             wrapped: asks for a passphrase
  cipherloom keygen -o key.age --recipient age1...      wrapped for somebody's age key (repeatable)
  cipherloom keygen --format age -o me.txt              an age identity; prints its age1...")]
pub struct KeygenArguments {
    /// The key file to make; never overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What the key is for: tink, or age for an identity file
    #[arg(long, value_name = "tink|age", default_value = "tink", hide_possible_values = true)]
    #[arg(value_parser = named_values([("tink", FormatName::Tink), ("age", FormatName::Age)]))]
    pub format: FormatName,
    /// Make an age identity for quantum computers to come (ML-KEM-768 and X25519); age 1.3 and later can use it
    #[arg(long)]
    pub post_quantum: bool,
    /// Kind and segment size of the key
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = template_values())]
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

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Show the keys in a key file, without their secrets
    List(Deferred<KeysListArguments>),
    /// Add a new key to a key file
    Add(Deferred<KeysAddArguments>),
    /// Choose the key that encrypts from now on
    Promote(Deferred<KeysIdArguments>),
    /// Stop using a key; it stays in the file
    Disable(Deferred<KeysIdArguments>),
    /// Use a disabled key again
    Enable(Deferred<KeysIdArguments>),
    /// Change the passphrase of a key file
    Passphrase(Deferred<KeysPassphraseArguments>),
}

#[derive(Debug, Args)]
pub struct KeyFileArguments {
    /// The key file; a change keeps the old one beside it as FILE.old
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub secrets: SecretArguments,
}

/// A key file whose keys change.
#[derive(Debug, Args)]
pub struct ChangeArguments {
    #[command(flatten)]
    pub key_file: KeyFileArguments,
    /// Wrap the new file for the owner of this age public key (repeatable); needed if the old one is wrapped for recipients
    #[arg(long, value_name = "AGE1…")]
    pub recipient: Vec<String>,
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
    pub change: ChangeArguments,
    /// Kind and segment size of the key
    #[arg(long, default_value_t, value_name = "TEMPLATE", ignore_case = true, value_parser = template_values())]
    pub template: Template,
    /// Make the new key the one that encrypts
    #[arg(long)]
    pub primary: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom keys list key.json
  cipherloom keys promote key.json 3102697502
  cipherloom keys disable key.json 1742061253")]
pub struct KeysIdArguments {
    #[command(flatten)]
    pub change: ChangeArguments,
    /// The key's identifier, as `cipherloom keys list FILE` shows it
    #[arg(value_name = "ID")]
    pub id: u32,
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
