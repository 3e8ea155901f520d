//! From arguments to keys and formats: which file a key comes from, and what it is for.

use crate::arguments::{CipherName, FormatArguments, FormatName};
use crate::exit_code::{no_key, usage};
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::format::{Cipher, IvPolicy, MAX_SEGMENT_SIZE};
use cipherloom::key::wrapped::{self, IdentityText, LockKind, Opener};
use cipherloom::key::{self, Keyset, RawKey, SECRET_LIMIT};
use cipherloom::{Engine, Error, Format};
use std::num::NonZeroU32;
use std::path::Path;
use zeroize::Zeroizing;

/// Iterations of PBKDF2 where none are given: what openssl enc does.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(10_000).unwrap();

/// The format that the arguments ask for, with its keys.
pub fn format(arguments: &FormatArguments, engine: Engine) -> anyhow::Result<Format> {
    refuse_foreign_options(arguments)?;
    match arguments.format {
        FormatName::Tink => {
            let (keyset, lock) = keyset(key_file(arguments)?, arguments)?;
            refuse_idle_secrets(arguments, &[lock])?;
            Ok(tink(arguments, keyset, engine)?)
        }
        FormatName::Cobblestone => cobblestone(arguments, key_file(arguments)?),
        FormatName::Openssl => {
            let cipher = arguments.cipher.ok_or_else(|| missing("--cipher NAME", "openssl"))?;
            let passphrase = passphrase::existing(arguments.passphrase_file.as_deref(), "Passphrase: ")?;
            let iterations = arguments.pbkdf2_iterations.unwrap_or(ITERATIONS);
            Ok(Format::openssl(cipher.into(), passphrase, iterations.get(), engine)?)
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

/// The format that the arguments ask for, with its own key and with the one in the file `to`.
pub fn formats(arguments: &FormatArguments, to: &Path, engine: Engine) -> anyhow::Result<(Format, Format)> {
    refuse_foreign_options(arguments)?;
    match arguments.format {
        FormatName::Tink => {
            let (from, from_lock) = keyset(key_file(arguments)?, arguments)?;
            let (to, to_lock) = keyset(to, arguments)?;
            refuse_idle_secrets(arguments, &[from_lock, to_lock])?;
            Ok((tink(arguments, from, engine)?, tink(arguments, to, engine)?))
        }
        FormatName::Cobblestone => {
            Ok((cobblestone(arguments, key_file(arguments)?)?, cobblestone(arguments, to)?))
        }
        FormatName::Openssl | FormatName::Raw => Err(usage(
            "rekey works with --format tink and cobblestone only: files of other formats open with any key and give \
             nonsense, which would then be sealed; decrypt and encrypt them instead",
        )),
    }
}

fn tink(arguments: &FormatArguments, keyset: Keyset, engine: Engine) -> Result<Format, Error> {
    let most = arguments.max_segment_size.unwrap_or(MAX_SEGMENT_SIZE);
    Format::tink_with_segments_up_to(most, keyset, engine)
}

fn cobblestone(arguments: &FormatArguments, key: &Path) -> anyhow::Result<Format> {
    Ok(Format::cobblestone(&raw_key(key)?, arguments.context.as_bytes())?)
}

/// The key file of tink or cobblestone.
fn key_file(arguments: &FormatArguments) -> anyhow::Result<&Path> {
    match arguments.format {
        FormatName::Tink => arguments.key.as_deref().ok_or_else(|| missing("--key FILE", "tink")),
        _ => arguments.raw_key.as_deref().ok_or_else(|| missing("--raw-key FILE", "cobblestone")),
    }
}

/// A secret that opened none of the key files has no effect, and somebody may believe that these are wrapped.
fn refuse_idle_secrets(arguments: &FormatArguments, locks: &[Option<LockKind>]) -> anyhow::Result<()> {
    for (option, is_given, lock) in [
        ("--identity", arguments.identity.is_some(), LockKind::Recipients),
        ("--passphrase-file", arguments.passphrase_file.is_some(), LockKind::Passphrase),
    ] {
        if is_given && !locks.contains(&Some(lock)) {
            let state = if locks.iter().all(Option::is_none) { "not wrapped" } else { "wrapped otherwise" };
            return Err(usage(format!("{option} opens nothing: the key file is {state}; leave it out")));
        }
    }
    Ok(())
}

/// An identity opens, and a new key file is not there to be opened.
pub fn refuse_identity(arguments: &FormatArguments) -> anyhow::Result<()> {
    match arguments.identity {
        None => Ok(()),
        Some(_) => Err(usage(
            "--identity opens a key file that is there; to wrap a new one for its owner give --recipient AGE1…",
        )),
    }
}

/// An option of another format has no effect, and somebody may rely on its having one.
pub fn refuse_foreign_options(arguments: &FormatArguments) -> anyhow::Result<()> {
    use FormatName::{Cobblestone, Openssl, Raw, Tink};
    let options: [(&str, bool, &[FormatName]); 10] = [
        ("--max-segment-size", arguments.max_segment_size.is_some(), &[Tink]),
        ("--key", arguments.key.is_some(), &[Tink]),
        ("--identity", arguments.identity.is_some(), &[Tink]),
        ("--passphrase-file", arguments.passphrase_file.is_some(), &[Tink, Openssl]),
        ("--raw-key", arguments.raw_key.is_some(), &[Cobblestone, Raw]),
        ("--cipher", arguments.cipher.is_some(), &[Openssl, Raw]),
        ("--iv", arguments.iv.is_some(), &[Raw]),
        ("--reuse-keystream-and-reveal-plaintext", arguments.reuse_keystream_and_reveal_plaintext, &[Raw]),
        ("--pbkdf2-iterations", arguments.pbkdf2_iterations.is_some(), &[Openssl]),
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

/// Reads a keyset, unwrapping it if it is wrapped; with what it was locked with.
fn keyset(path: &Path, arguments: &FormatArguments) -> anyhow::Result<(Keyset, Option<LockKind>)> {
    let contents = read_secret(path)?;
    let in_file = || output::printable(path);
    if !wrapped::is_wrapped(&contents) {
        return Ok((Keyset::parse(&contents).with_context(in_file)?, None));
    }
    let lock = wrapped::lock_kind(&contents).with_context(in_file)?;
    let keyset = match (lock, &arguments.identity) {
        (LockKind::Recipients, None) => {
            return Err(no_key(format!(
                "{}: the keyset is wrapped for recipients; give --identity FILE with the age identity of one of them",
                output::printable(path)
            )));
        }
        (LockKind::Recipients, Some(identity)) => {
            let mut text = read_beside(identity, "the identity file")?;
            let text = IdentityText::new(std::mem::take(&mut *text));
            let keyset = wrapped::unwrap(&contents, &Opener::IdentityFile(&text));
            if matches!(keyset, Err(Error::IdentityFile { .. } | Error::IdentityFileEmpty)) {
                return keyset
                    .map(|keyset| (keyset, Some(lock)))
                    .with_context(|| output::printable(identity));
            }
            keyset
        }
        (LockKind::Passphrase, _) => {
            let prompt = format!("Passphrase of {}: ", output::printable(path));
            let passphrase = passphrase::existing(arguments.passphrase_file.as_deref(), &prompt)?;
            wrapped::unwrap(&contents, &Opener::Passphrase(&passphrase))
        }
    };
    keyset.map(|keyset| (keyset, Some(lock))).with_context(in_file)
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
