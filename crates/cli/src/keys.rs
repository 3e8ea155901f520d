//! From arguments to keys and formats: which file a key comes from, and what it is for.

use crate::arguments::{CipherName, FormatArguments, FormatName};
use crate::exit_code::{no_key, usage};
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::wrapped::{self, IdentityText, LockKind, Opener};
use cipherloom::key::{self, Keyset, RawKey, SECRET_LIMIT};
use cipherloom::{Engine, Error, Format};
use std::path::Path;
use zeroize::Zeroizing;

/// The format that the arguments ask for, with its keys.
pub fn format(arguments: &FormatArguments, engine: Engine) -> anyhow::Result<Format> {
    refuse_foreign_options(arguments)?;
    match arguments.format {
        FormatName::Tink => {
            let path = arguments.key.as_deref().ok_or_else(|| missing("--key FILE", "tink"))?;
            with_key(arguments, path, engine)
        }
        FormatName::Cobblestone => {
            let path =
                arguments.raw_key.as_deref().ok_or_else(|| missing("--raw-key FILE", "cobblestone"))?;
            with_key(arguments, path, engine)
        }
        FormatName::Openssl => {
            let cipher = arguments.cipher.ok_or_else(|| missing("--cipher NAME", "openssl"))?;
            let passphrase = passphrase::existing(arguments.passphrase_file.as_deref(), "Passphrase: ")?;
            Ok(Format::openssl(cipher.into(), passphrase, arguments.pbkdf2_iterations.get(), engine)?)
        }
        FormatName::Raw => {
            let cipher = arguments.cipher.ok_or_else(|| missing("--cipher NAME", "raw"))?;
            let path = arguments.raw_key.as_deref().ok_or_else(|| missing("--raw-key FILE", "raw"))?;
            let iv = match &arguments.iv {
                None => IvPolicy::Prefixed,
                Some(hex) => IvPolicy::Fixed(parse_iv(hex)?),
            };
            Ok(Format::raw(cipher.into(), &raw_key(path)?, iv, engine)?)
        }
    }
}

/// The format that the arguments ask for, with the key in the file at `path` (tink and cobblestone).
pub fn with_key(arguments: &FormatArguments, path: &Path, engine: Engine) -> anyhow::Result<Format> {
    match arguments.format {
        FormatName::Tink => Ok(Format::tink(keyset(path, arguments)?, engine)?),
        FormatName::Cobblestone => Ok(Format::cobblestone(&raw_key(path)?, arguments.context.as_bytes())?),
        FormatName::Openssl | FormatName::Raw => Err(usage(
            "rekey works with --format tink and cobblestone only: files of other formats open with any key and give \
             nonsense, which would then be sealed; decrypt and encrypt them instead",
        )),
    }
}

/// An option of another format has no effect, and somebody may rely on its having one.
fn refuse_foreign_options(arguments: &FormatArguments) -> anyhow::Result<()> {
    use FormatName::{Cobblestone, Openssl, Raw, Tink};
    let options: [(&str, bool, &[FormatName]); 7] = [
        ("--key", arguments.key.is_some(), &[Tink]),
        ("--identity", arguments.identity.is_some(), &[Tink]),
        ("--passphrase-file", arguments.passphrase_file.is_some(), &[Tink, Openssl]),
        ("--raw-key", arguments.raw_key.is_some(), &[Cobblestone, Raw]),
        ("--cipher", arguments.cipher.is_some(), &[Openssl, Raw]),
        ("--iv", arguments.iv.is_some(), &[Raw]),
        ("--context", !arguments.context.is_empty(), &[Cobblestone]),
    ];
    match options.iter().find(|(_, is_given, formats)| *is_given && !formats.contains(&arguments.format)) {
        None => Ok(()),
        Some((option, ..)) => {
            let name = format!("{:?}", arguments.format).to_lowercase();
            Err(usage(format!(
                "{option} means nothing to --format {name}; leave it out or choose its format"
            )))
        }
    }
}

fn missing(option: &str, format: &str) -> anyhow::Error {
    let remedy = match format {
        "tink" => "`cipherloom keygen -o FILE` makes a key, `encrypt --new-key FILE` makes it on the way",
        _ => "`cipherloom help encrypt` shows examples",
    };
    usage(format!("--format {format} needs {option}; {remedy}"))
}

/// Reads a keyset, unwrapping it if it is wrapped.
pub fn keyset(path: &Path, arguments: &FormatArguments) -> anyhow::Result<Keyset> {
    let contents = read_secret(path)?;
    let in_file = || output::printable(path);
    if !wrapped::is_wrapped(&contents) {
        return Keyset::parse(&contents).with_context(in_file);
    }
    let keyset = match (wrapped::lock_kind(&contents).with_context(in_file)?, &arguments.identity) {
        (LockKind::Recipients, None) => {
            return Err(no_key(format!(
                "{}: the keyset is wrapped for recipients; give --identity FILE with the age identity of one of them",
                output::printable(path)
            )));
        }
        (_, Some(identity)) => {
            let mut text = read_beside(identity, "the identity file")?;
            let text = IdentityText::new(std::mem::take(&mut *text));
            let keyset = wrapped::unwrap(&contents, &Opener::IdentityFile(&text));
            if matches!(keyset, Err(Error::IdentityFile { .. } | Error::IdentityFileEmpty)) {
                return keyset.with_context(|| output::printable(identity));
            }
            keyset
        }
        (LockKind::Passphrase, None) => {
            let prompt = format!("Passphrase of {}: ", output::printable(path));
            let passphrase = passphrase::existing(arguments.passphrase_file.as_deref(), &prompt)?;
            wrapped::unwrap(&contents, &Opener::Passphrase(&passphrase))
        }
    };
    keyset.with_context(in_file)
}

fn raw_key(path: &Path) -> anyhow::Result<RawKey> {
    RawKey::parse(&read_secret(path)?).with_context(|| output::printable(path))
}

/// Reads a key file, and warns if others may read it too.
fn read_secret(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = key::read_secret(path, SECRET_LIMIT).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let remedy = if is_missing { "; `cipherloom keygen -o FILE` makes a keyset" } else { "" };
        no_key(format!("{}: cannot read the key file: {error}{remedy}", output::printable(path)))
    })?;
    if file.is_open_to_others {
        output::warn(format_args!(
            "{}: others may read this key file; `chmod 600` keeps it yours",
            output::printable(path)
        ));
    }
    Ok(file.contents)
}

/// Reads a file that comes beside keys: an identity, a passphrase.
pub fn read_beside(path: &Path, what: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = key::read_secret(path, SECRET_LIMIT)
        .map_err(|error| no_key(format!("{}: cannot read {what}: {error}", output::printable(path))))?;
    Ok(file.contents)
}

fn parse_iv(hex: &str) -> anyhow::Result<[u8; 16]> {
    let error = || usage("--iv wants 32 hexadecimal digits (16 bytes)");
    if hex.len() != 32 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(error());
    }
    let mut iv = [0; 16];
    for (byte, digits) in iv.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| error())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| error())?;
    }
    Ok(iv)
}

impl From<CipherName> for Cipher {
    fn from(name: CipherName) -> Cipher {
        match name {
            CipherName::Aes128Cbc => Cipher::Aes128Cbc,
            CipherName::Aes192Cbc => Cipher::Aes192Cbc,
            CipherName::Aes256Cbc => Cipher::Aes256Cbc,
            CipherName::Aes128Ctr => Cipher::Aes128Ctr,
            CipherName::Aes192Ctr => Cipher::Aes192Ctr,
            CipherName::Aes256Ctr => Cipher::Aes256Ctr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iv_is_32_digits() {
        assert_eq!(parse_iv("000102030405060708090a0b0c0d0e0f").unwrap()[15], 15);
        for bad in ["", "00", "zz0102030405060708090a0b0c0d0e0f", "+0+1+2+3+4+5+6+7+8+9+a+b+c+d+e+f"] {
            assert!(parse_iv(bad).is_err(), "{bad}");
        }
    }
}
