//! From arguments to keys and formats: which file a key comes from, and what it is for.

use crate::arguments::{CipherName, FormatArguments, FormatName, RekeyArguments};
use crate::exit_code::{no_key, usage};
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::format::{Cipher, IvPolicy, MAX_SEGMENT_SIZE};
use cipherloom::key::wrapped::{self, IdentityText, LockKind, Opener};
use cipherloom::key::{self, Keyset, Passphrase, RawKey, SECRET_LIMIT};
use cipherloom::{Engine, Error, Format};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Iterations of PBKDF2 where none are given: OWASP's figure for HMAC-SHA-256. openssl's own 10,000 are few.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();

/// The format that the arguments ask for, with its keys.
pub fn format(arguments: &FormatArguments, engine: Engine) -> anyhow::Result<Format> {
    refuse_foreign_options(arguments)?;
    match arguments.format {
        FormatName::Tink => {
            let path = key_file(arguments)?;
            let opened = keyset(&path, openers(arguments))?;
            refuse_unexpected(&opened.keyset, &path, arguments)?;
            refuse_idle_secrets(&given_secrets(arguments), &[opened.lock])?;
            Ok(tink(arguments, opened.keyset, engine)?)
        }
        FormatName::Cobblestone => cobblestone(arguments, &key_file(arguments)?),
        FormatName::Openssl => {
            let cipher = arguments.cipher.ok_or_else(|| missing("--cipher NAME", "openssl"))?;
            let passphrase = passphrase::of_openssl(arguments.passphrase_file.as_deref(), "Passphrase: ")?;
            Ok(Format::openssl(cipher.into(), passphrase, iterations(arguments).get(), engine)?)
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

/// The formats of a re-keying: with the key that opens, and with the one in `--to`, which seals.
pub fn formats(arguments: &RekeyArguments, engine: Engine) -> anyhow::Result<(Format, Format)> {
    let RekeyArguments { format, to, to_passphrase_file, .. } = arguments;
    refuse_foreign_options(format)?;
    match format.format {
        FormatName::Tink => {
            let path = key_file(format)?;
            let from = keyset(&path, openers(format))?;
            refuse_unexpected(&from.keyset, &path, format)?;
            let passphrase_file = to_passphrase_file.as_deref().or(format.passphrase_file.as_deref());
            // What came by standard input comes only once.
            let known = if to_passphrase_file.is_none() && passphrase_file == Some(Path::new("-")) {
                from.passphrase.as_ref()
            } else {
                None
            };
            let path = to;
            let to = keyset(path, Openers { passphrase_file, passphrase: known, ..openers(format) })?;
            refuse_unexpected(&to.keyset, path, format)?;
            let locks = if to_passphrase_file.is_some() { &[from.lock][..] } else { &[from.lock, to.lock] };
            refuse_idle_secrets(&given_secrets(format)[1..], locks)?;
            refuse_idle_secrets(&given_secrets(format)[..1], &[from.lock, to.lock])?;
            let is_given = to_passphrase_file.is_some();
            refuse_idle_secrets(&[("--to-passphrase-file", is_given, LockKind::Passphrase)], &[to.lock])?;
            Ok((tink(format, from.keyset, engine)?, tink(format, to.keyset, engine)?))
        }
        FormatName::Cobblestone if to_passphrase_file.is_some() => {
            Err(usage("--to-passphrase-file cannot be used with --format cobblestone"))
        }
        FormatName::Cobblestone => Ok((cobblestone(format, &key_file(format)?)?, cobblestone(format, to)?)),
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

/// Name of the environment variable with the path of the key file.
pub const VARIABLE: &str = "CIPHERLOOM_KEY";

/// The key file that the arguments or the environment name.
pub fn named_key_file(arguments: &FormatArguments) -> Option<PathBuf> {
    match arguments.format {
        FormatName::Tink => arguments
            .key
            .clone()
            .or_else(|| std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)),
        _ => arguments.raw_key.clone(),
    }
}

/// The key file of tink or cobblestone.
fn key_file(arguments: &FormatArguments) -> anyhow::Result<PathBuf> {
    named_key_file(arguments).ok_or_else(|| match arguments.format {
        FormatName::Tink => missing("--key FILE", "tink"),
        _ => missing("--raw-key FILE", "cobblestone"),
    })
}

/// An option for a secret, whether it was given, and what it opens.
type GivenSecret = (&'static str, bool, LockKind);

fn given_secrets(arguments: &FormatArguments) -> [GivenSecret; 2] {
    [
        ("--identity", arguments.identity.is_some(), LockKind::Recipients),
        ("--passphrase-file", arguments.passphrase_file.is_some(), LockKind::Passphrase),
    ]
}

/// A secret that opened none of the key files has no effect, and somebody may believe that these are wrapped.
pub fn refuse_idle_secrets(secrets: &[GivenSecret], locks: &[Option<LockKind>]) -> anyhow::Result<()> {
    for (option, is_given, lock) in secrets {
        if *is_given && !locks.contains(&Some(*lock)) {
            let state =
                if locks.iter().all(Option::is_none) { "not wrapped" } else { "wrapped in another way" };
            return Err(usage(format!("{option} has no effect: the key file is {state}")));
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
    let options: [(&str, bool, &[FormatName]); 11] = [
        ("--max-segment-size", arguments.max_segment_size.is_some(), &[Tink]),
        ("--key", arguments.key.is_some(), &[Tink]),
        ("--expect-key", !arguments.expect_key.is_empty(), &[Tink]),
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
            Err(usage(format!("{option} cannot be used with --format {name}")))
        }
    }
}

fn missing(option: &str, format: &str) -> anyhow::Error {
    let remedy = match format {
        "tink" => {
            "`cipherloom keygen -o FILE` makes a key, `encrypt --new-key FILE` makes it on the way; CIPHERLOOM_KEY may name the file too"
        }
        _ => "`cipherloom help encrypt` shows examples",
    };
    usage(format!("--format {format} needs {option}; {remedy}"))
}

/// A new key has no fingerprint that somebody could expect.
pub fn refuse_expectation(arguments: &FormatArguments) -> anyhow::Result<()> {
    if arguments.expect_key.is_empty() {
        return Ok(());
    }
    Err(usage("--expect-key is for a key that is there; leave it out with --new-key"))
}

/// Refuses a key that the user did not expect: whoever can replace a wrapped key file can put a key of his own in it.
fn refuse_unexpected(keyset: &Keyset, path: &Path, arguments: &FormatArguments) -> anyhow::Result<()> {
    let found = keyset.fingerprint();
    let expected = &arguments.expect_key;
    if let Some(wrong) = expected.iter().find(|text| !is_fingerprint(text)) {
        return Err(usage(format!(
            "--expect-key {wrong:?} is no fingerprint; give the 32 hexadecimal digits that keygen shows"
        )));
    }
    if expected.is_empty() || expected.iter().any(|text| text.eq_ignore_ascii_case(&found)) {
        return Ok(());
    }
    Err(no_key(format!(
        "{}: holds another key than expected: its fingerprint is {found}; somebody may have replaced the file",
        output::printable(path)
    )))
}

fn is_fingerprint(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn iterations(arguments: &FormatArguments) -> NonZeroU32 {
    arguments.pbkdf2_iterations.unwrap_or(ITERATIONS)
}

/// Warns before an encryption whose passphrase would be guessed quickly.
pub fn warn_of_few_iterations(arguments: &FormatArguments) {
    let iterations = iterations(arguments);
    if arguments.format == FormatName::Openssl && iterations < ITERATIONS {
        output::warn(format_args!(
            "{iterations} iterations of PBKDF2 make guessing the passphrase cheap; {ITERATIONS} are the default"
        ));
    }
}

/// With CTR nothing tells a wrong number of iterations, and what comes out is nonsense.
pub fn refuse_guessed_iterations(arguments: &FormatArguments) -> anyhow::Result<()> {
    use CipherName::{Aes128Ctr, Aes192Ctr, Aes256Ctr};
    let is_counter = matches!(arguments.cipher, Some(Aes128Ctr | Aes192Ctr | Aes256Ctr));
    if arguments.format == FormatName::Openssl && is_counter && arguments.pbkdf2_iterations.is_none() {
        return Err(usage(format!(
            "CTR cannot tell a wrong number of iterations; give --pbkdf2-iterations N: {ITERATIONS} if cipherloom encrypted \
             this without the option, 10000 if `openssl enc -pbkdf2` did without -iter"
        )));
    }
    Ok(())
}

/// After an encryption in the openssl format: how OpenSSL opens its files, whose iterations are not its own.
pub fn tell_openssl_command(arguments: &FormatArguments) {
    if let (FormatName::Openssl, Some(cipher)) = (arguments.format, arguments.cipher) {
        let (name, iterations) = (Cipher::from(cipher).name(), iterations(arguments));
        output::tell(format_args!(
            "to decrypt with OpenSSL: openssl enc -d -{name} -pbkdf2 -iter {iterations} -in FILE"
        ));
    }
}

/// What opens a key file that is wrapped.
#[derive(Clone, Copy)]
pub struct Openers<'a> {
    pub identity: Option<&'a Path>,
    pub passphrase_file: Option<&'a Path>,
    /// A passphrase that is known already.
    pub passphrase: Option<&'a Passphrase>,
}

fn openers(arguments: &FormatArguments) -> Openers<'_> {
    Openers {
        identity: arguments.identity.as_deref(),
        passphrase_file: arguments.passphrase_file.as_deref(),
        passphrase: None,
    }
}

/// A keyset from a key file.
pub struct Opened {
    pub keyset: Keyset,
    /// What the file is wrapped with.
    pub lock: Option<LockKind>,
    /// The passphrase that opened it.
    pub passphrase: Option<Passphrase>,
}

/// Reads a keyset, unwrapping it if it is wrapped.
pub fn keyset(path: &Path, openers: Openers<'_>) -> anyhow::Result<Opened> {
    let contents = read_secret(path)?;
    let in_file = || output::printable(path);
    if !wrapped::is_wrapped(&contents) {
        let keyset = Keyset::parse(&contents).with_context(in_file)?;
        return Ok(Opened { keyset, lock: None, passphrase: None });
    }
    let lock = wrapped::lock_kind(&contents).with_context(in_file)?;
    let mut passphrase = None;
    let keyset = match (lock, openers.identity) {
        (LockKind::Recipients, None) => {
            return Err(no_key(format!(
                "{}: the keyset is wrapped for recipients; give --identity FILE with the age identity of one of them",
                output::printable(path)
            )));
        }
        (LockKind::Recipients, Some(identity)) => {
            let mut text = read_beside(identity, "the identity file")?;
            let text = IdentityText::new(std::mem::take(&mut *text));
            match wrapped::unwrap(&contents, &Opener::IdentityFile(&text)) {
                Err(
                    error @ (Error::IdentityFile { .. }
                    | Error::IdentityFileEmpty
                    | Error::IdentityFileEncrypted),
                ) => return Err(error).with_context(|| output::printable(identity)),
                keyset => keyset,
            }
        }
        (LockKind::Passphrase, _) => {
            let prompt = format!("Passphrase of {}: ", output::printable(path));
            let secret = match openers.passphrase {
                Some(known) => Passphrase::new(known.text()?.as_bytes())?,
                None => passphrase::existing(openers.passphrase_file, &prompt)?,
            };
            wrapped::unwrap(&contents, &Opener::Passphrase(passphrase.insert(secret)))
        }
    };
    let keyset = keyset.with_context(in_file)?;
    Ok(Opened { keyset, lock: Some(lock), passphrase })
}

fn raw_key(path: &Path) -> anyhow::Result<RawKey> {
    RawKey::parse(&read_secret(path)?).with_context(|| output::printable(path))
}

/// Reads a key file, and warns if others may read it too: without need where it is wrapped.
fn read_secret(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = key::read_secret(path, SECRET_LIMIT).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let remedy = if is_missing { "; `cipherloom keygen -o FILE` makes a keyset" } else { "" };
        no_key(format!("{}: cannot read the key file: {error}{remedy}", output::printable(path)))
    })?;
    if file.is_open_to_others && !wrapped::is_wrapped(&file.contents) {
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
