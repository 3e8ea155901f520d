//! From arguments to the format age: recipients, identities and passphrases.

use crate::age_prompt::AgePrompt;
use crate::arguments::{FormatArguments, RecipientArguments, RekeyArguments, SecretArguments};
use crate::exit_code::usage;
use crate::{escape, keys, passphrase};
use anyhow::Context;
use cipherloom::Format;
use cipherloom::age::{Identity, Prompt, Recipient};
use std::sync::Arc;

/// The format that encrypts for the recipients of the arguments and of their identities, or with a passphrase.
pub fn sealing_format(recipients: &RecipientArguments, options: &FormatArguments) -> anyhow::Result<Format> {
    let SecretArguments { identity, passphrase_file, .. } = &options.secrets;
    // An identity file's passphrase is not one for the files.
    let wants_passphrase = options.passphrase || (passphrase_file.is_some() && identity.is_empty());
    match (recipients.is_given() || !identity.is_empty(), wants_passphrase) {
        (true, true) => Err(usage("a passphrase cannot be combined with recipients", "give one of the two")),
        (true, false) => {
            let (mut all, identities) = (parse_recipients(recipients)?, identities(&options.secrets)?);
            all.extend(identities.iter().map(Identity::recipient));
            Ok(Format::age(all, identities)?)
        }
        (false, true) => {
            let words = passphrase::new(options.secrets.passphrase_file.as_deref(), "New passphrase: ")?;
            Ok(Format::age_for([Recipient::from_passphrase(words, None)?])?)
        }
        (false, false) => Err(usage(
            "--format age needs --recipient, --recipients-file, --identity or --passphrase",
            "`cipherloom keygen --format age -o FILE` makes an identity and prints its recipient",
        )),
    }
}

/// The format that opens files with the identities of the arguments, or with a passphrase.
pub fn opening_format(options: &FormatArguments) -> anyhow::Result<Format> {
    let mut identities = identities(&options.secrets)?;
    if identities.is_empty() || options.passphrase {
        let words = passphrase::existing(options.secrets.passphrase_file.as_deref(), "Passphrase: ")?;
        identities.push(Identity::from_passphrase(words, options.max_work_factor)?);
    }
    Ok(Format::age_from(identities)?)
}

/// The formats of a re-keying: what opens the files now, and whom they are for then.
pub fn rekeying_formats(arguments: &RekeyArguments) -> anyhow::Result<(Format, Format)> {
    let RekeyArguments { format, recipients, to_passphrase_file, .. } = arguments;
    let to = match (recipients.is_given(), to_passphrase_file) {
        (true, None) => Format::age_for(parse_recipients(recipients)?)?,
        (false, Some(file)) => {
            let words = passphrase::new(Some(file), "")?;
            Format::age_for([Recipient::from_passphrase(words, None)?])?
        }
        (true, Some(_)) => {
            return Err(usage("a passphrase cannot be combined with recipients", "give one of the two"));
        }
        (false, None) => {
            let message =
                "rekey with --format age needs --recipient, --recipients-file or --to-passphrase-file";
            return Err(usage(message, ""));
        }
    };
    Ok((opening_format(format)?, to))
}

fn parse_recipients(arguments: &RecipientArguments) -> anyhow::Result<Vec<Recipient>> {
    let prompt: Arc<dyn Prompt> = Arc::new(AgePrompt::for_plugins());
    let mut recipients = Vec::new();
    for (index, text) in arguments.recipient.iter().enumerate() {
        let recipient = Recipient::parse_with(text, &prompt);
        // The text itself is not shown: somebody may have given a secret by mistake.
        recipients.push(recipient.with_context(|| format!("--recipient {}", index + 1))?);
    }
    for path in &arguments.recipients_file {
        let contents = keys::read_secret(path, "the recipients file")?;
        recipients.extend(Recipient::parse_file(&contents, &prompt).with_context(|| escape::path(path))?);
    }
    Ok(recipients)
}

/// The identities in the files of the arguments. Encrypted files open with the passphrase of the arguments, or the user is
/// asked.
pub fn identities(secrets: &SecretArguments) -> anyhow::Result<Vec<Identity>> {
    let mut identities = Vec::new();
    for path in &secrets.identity {
        let contents = keys::read_secret(path, "the identity file")?;
        let prompt: Arc<dyn Prompt> =
            Arc::new(AgePrompt::for_identities(path, secrets.passphrase_file.as_deref()));
        identities.extend(Identity::parse_file(&contents, &prompt).with_context(|| escape::path(path))?);
    }
    Ok(identities)
}
