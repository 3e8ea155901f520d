//! From arguments to keys and formats: reads key files, and checks that each option has an effect.

use crate::arguments::{EncryptArguments, FormatArguments, FormatName, RekeyArguments, SecretArguments};
use crate::exit_code::{no_key, usage};
use crate::output::{self, at};
use crate::{age_keys, escape, passphrase};
use anyhow::Context;
use cipherloom::format::{Cipher, IvPolicy, MAX_SEGMENT_SIZE, Mode};
use cipherloom::key::wrapped::{self, Lock, LockKind, Opener};
use cipherloom::key::{self, Keyset, Passphrase, RawKey, SECRET_LIMIT};
use cipherloom::{Error, Format, IfExists, machine::Engine};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Iterations of PBKDF2 where none are given: OWASP's figure for HMAC-SHA-256. openssl's own 10,000 are few.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();

/// The format that the arguments ask for, with its keys.
pub fn format(arguments: &FormatArguments, engine: Engine) -> anyhow::Result<Format> {
    refuse_foreign_options(arguments)?;
    let cipher = |format| arguments.cipher.ok_or_else(|| missing("--cipher NAME", format));
    match arguments.format {
        FormatName::Tink => {
            let path = key_file(arguments)?;
            let opened = open_keyset(&path, &arguments.secrets)?;
            refuse_unexpected(&opened.keyset, &path, arguments)?;
            Ok(tink(arguments, opened.keyset, engine)?)
        }
        FormatName::Cobblestone => cobblestone(arguments, &key_file(arguments)?),
        FormatName::Age => age_keys::opening_format(arguments),
        FormatName::Openssl => {
            let cipher = cipher("openssl")?;
            let passphrase = passphrase::for_openssl(arguments.secrets.passphrase_file.as_deref())?;
            Ok(Format::openssl(cipher, passphrase, iterations(arguments).get(), engine)?)
        }
        FormatName::Raw => {
            let cipher = cipher("raw")?;
            let path = arguments.raw_key.as_deref().ok_or_else(|| missing("--raw-key FILE", "raw"))?;
            let bad_iv = || usage("--iv wants 32 hexadecimal digits (16 bytes)", "");
            let iv = match &arguments.iv {
                None => IvPolicy::Prefixed,
                Some(digits) => IvPolicy::Fixed(*from_digits(digits).ok_or_else(bad_iv)?),
            };
            Ok(Format::raw(cipher, &raw_key(path)?, iv, engine)?)
        }
    }
}

/// The formats of a re-keying: with the key that opens, and with the one in `--to`, which seals.
pub fn formats(arguments: &RekeyArguments, engine: Engine) -> anyhow::Result<(Format, Format)> {
    let RekeyArguments { format, to, to_passphrase_file, .. } = arguments;
    refuse_foreign_options(format)?;
    if format.format == FormatName::Age {
        if to.is_some() {
            return Err(usage("--to cannot be used with --format age", "give --recipient"));
        }
        return age_keys::rekeying_formats(arguments);
    }
    let to = || to.as_deref().ok_or_else(|| missing("--to FILE", format.format.name()));
    match format.format {
        FormatName::Tink => {
            let path = key_file(format)?;
            let from = read_keyset(&path, &format.secrets, None)?;
            refuse_unexpected(&from.keyset, &path, format)?;
            let mut secrets = format.secrets.clone();
            // Standard input gives its passphrase only once.
            let known = from.passphrase.as_ref().filter(|_| {
                to_passphrase_file.is_none() && secrets.passphrase_file.as_deref() == Some(Path::new("-"))
            });
            secrets.passphrase_file = to_passphrase_file.clone().or(secrets.passphrase_file);
            let to = to()?;
            let to_opened = read_keyset(to, &secrets, known)?;
            refuse_unexpected(&to_opened.keyset, to, format)?;
            let both = [from.lock, to_opened.lock];
            let locks = if to_passphrase_file.is_some() { &both[..1] } else { &both };
            refuse_idle(
                "--passphrase-file",
                has_passphrase_for_keys(&format.secrets),
                LockKind::Passphrase,
                locks,
            )?;
            refuse_idle("--identity", !format.secrets.identity.is_empty(), LockKind::Recipients, &both)?;
            refuse_idle(
                "--to-passphrase-file",
                to_passphrase_file.is_some(),
                LockKind::Passphrase,
                &both[1..],
            )?;
            Ok((tink(format, from.keyset, engine)?, tink(format, to_opened.keyset, engine)?))
        }
        FormatName::Cobblestone if to_passphrase_file.is_some() => {
            Err(usage("--to-passphrase-file cannot be used with --format cobblestone", ""))
        }
        FormatName::Cobblestone => {
            Ok((cobblestone(format, &key_file(format)?)?, cobblestone(format, to()?)?))
        }
        FormatName::Openssl | FormatName::Raw | FormatName::Age => Err(usage(
            "rekey works with --format tink, cobblestone and age only: files of other formats open with any key and give \
             nonsense, which would then be sealed",
            "decrypt and encrypt them instead",
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
    if arguments.format != FormatName::Tink {
        return arguments.raw_key.clone();
    }
    let from_environment = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    arguments.key.clone().or_else(from_environment)
}

/// The key file of tink or cobblestone.
fn key_file(arguments: &FormatArguments) -> anyhow::Result<PathBuf> {
    named_key_file(arguments).ok_or_else(|| match arguments.format {
        FormatName::Tink => missing("--key FILE", "tink"),
        _ => missing("--raw-key FILE", "cobblestone"),
    })
}

/// Refuses an option for a secret that opened none of the key files: it has no effect, and the user may believe that the
/// key files are wrapped.
fn refuse_idle(
    option: &str,
    is_given: bool,
    opens: LockKind,
    locks: &[Option<LockKind>],
) -> anyhow::Result<()> {
    if !is_given || locks.contains(&Some(opens)) {
        return Ok(());
    }
    let is_plain = locks.iter().all(Option::is_none);
    let state = if is_plain { "not wrapped" } else { "wrapped in another way" };
    Err(usage(format!("{option} has no effect: the key file is {state}"), ""))
}

/// Whether a passphrase file is given for key files: beside identities, it may be for these.
fn has_passphrase_for_keys(secrets: &SecretArguments) -> bool {
    secrets.passphrase_file.is_some() && secrets.identity.is_empty()
}

/// Refuses an option of another format: it has no effect, and the user may rely on it.
pub fn refuse_foreign_options(arguments: &FormatArguments) -> anyhow::Result<()> {
    use FormatName::{Age, Cobblestone, Openssl, Raw, Tink};
    let options: [(&str, bool, &[FormatName]); 13] = [
        ("--max-segment-size", arguments.max_segment_size.is_some(), &[Tink]),
        ("--key", arguments.key.is_some(), &[Tink]),
        ("--expect-key", !arguments.expect_key.is_empty(), &[Tink]),
        ("--identity", !arguments.secrets.identity.is_empty(), &[Tink, Age]),
        ("--passphrase-file", arguments.secrets.passphrase_file.is_some(), &[Tink, Openssl, Age]),
        ("--passphrase", arguments.passphrase, &[Tink, Age]),
        ("--max-work-factor", arguments.max_work_factor.is_some(), &[Age]),
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
            Err(usage(format!("{option} cannot be used with --format {}", arguments.format.name()), ""))
        }
    }
}

/// Refuses options that open a key, or continue with one, beside --new-key.
pub fn refuse_beside_new_key(arguments: &EncryptArguments) -> anyhow::Result<()> {
    let EncryptArguments { format, output, .. } = arguments;
    refuse_foreign_options(format)?;
    let (message, hint) = if !format.secrets.identity.is_empty() {
        ("--identity opens a key file that exists", "to wrap a new one for its owner give --recipient AGE1…")
    } else if output.if_exists.if_exists == IfExists::Skip {
        (
            "--new-key with --if-exists skip would leave files under two keys",
            "go on with the key that the outputs have: --key FILE",
        )
    } else if !format.expect_key.is_empty() {
        ("--expect-key is for a key that exists", "leave it out with --new-key")
    } else {
        return Ok(());
    };
    Err(usage(message, hint))
}

fn missing(option: &str, format: &str) -> anyhow::Error {
    let hint = match format {
        "tink" => {
            "`cipherloom keygen -o FILE` makes a key, `encrypt --new-key FILE` makes one before it encrypts; CIPHERLOOM_KEY \
             may name the file too"
        }
        _ => "`cipherloom help encrypt` shows examples",
    };
    usage(format!("--format {format} needs {option}"), hint)
}

/// Refuses a key that the user did not expect: somebody who can replace a wrapped key file can put another key in it.
fn refuse_unexpected(keyset: &Keyset, path: &Path, arguments: &FormatArguments) -> anyhow::Result<()> {
    let (found, expected) = (keyset.fingerprint(), &arguments.expect_key);
    if let Some(wrong) = expected.iter().find(|text| from_digits::<16>(text).is_none()) {
        let hint = "give the 32 hexadecimal digits that keygen shows";
        return Err(usage(format!("--expect-key {wrong:?} is no fingerprint"), hint));
    }
    if expected.is_empty() || expected.iter().any(|text| text.eq_ignore_ascii_case(&found)) {
        return Ok(());
    }
    let words = format_args!("holds another key than expected: its fingerprint is {found}");
    Err(no_key(at(path, words), "somebody may have replaced the file"))
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

/// Whether the cipher is in CTR mode, in which a wrong key goes unnoticed.
pub fn is_counter(cipher: Option<Cipher>) -> bool {
    cipher.is_some_and(|cipher| cipher.mode() == Mode::Ctr)
}

/// Refuses to decrypt CTR with the default iterations: a wrong number goes unnoticed, and the output is nonsense.
pub fn refuse_guessed_iterations(arguments: &FormatArguments) -> anyhow::Result<()> {
    let is_guessed = arguments.format == FormatName::Openssl && arguments.pbkdf2_iterations.is_none();
    if is_guessed && is_counter(arguments.cipher) {
        let hint = format!(
            "give --pbkdf2-iterations N: {ITERATIONS} if cipherloom encrypted this without the option, 10000 if `openssl enc \
             -pbkdf2` did without -iter"
        );
        return Err(usage("CTR cannot tell a wrong number of iterations", hint));
    }
    Ok(())
}

/// Prints after an encryption in the openssl format how OpenSSL opens its files: the iterations are not its default.
pub fn print_openssl_command(arguments: &FormatArguments) {
    if let (FormatName::Openssl, Some(cipher)) = (arguments.format, arguments.cipher) {
        let iterations = iterations(arguments);
        output::print_line(format_args!(
            "to decrypt with OpenSSL: openssl enc -d -{cipher} -pbkdf2 -iter {iterations} -in FILE"
        ));
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

/// Reads a keyset, and refuses secrets that the file does not need.
pub fn open_keyset(path: &Path, secrets: &SecretArguments) -> anyhow::Result<Opened> {
    let opened = read_keyset(path, secrets, None)?;
    let locks = [opened.lock];
    refuse_idle("--identity", !secrets.identity.is_empty(), LockKind::Recipients, &locks)?;
    refuse_idle("--passphrase-file", has_passphrase_for_keys(secrets), LockKind::Passphrase, &locks)?;
    Ok(opened)
}

/// Reads a keyset, unwrapping it if it is wrapped. `known`: a passphrase that is known already.
fn read_keyset(path: &Path, secrets: &SecretArguments, known: Option<&Passphrase>) -> anyhow::Result<Opened> {
    let contents = read_key_file(path)?;
    let in_file = || escape::path(path);
    if !wrapped::is_wrapped(&contents) {
        let keyset = Keyset::parse(&contents).with_context(in_file)?;
        return Ok(Opened { keyset, lock: None, passphrase: None });
    }
    let lock = wrapped::lock_kind(&contents).with_context(in_file)?;
    let mut passphrase = None;
    let keyset = match lock {
        LockKind::Recipients if secrets.identity.is_empty() => {
            return Err(Error::IdentityNeeded.at(path).into());
        }
        LockKind::Recipients => {
            wrapped::unwrap(&contents, &Opener::Identities(&age_keys::identities(secrets)?))
        }
        LockKind::Passphrase => {
            let prompt = format!("Passphrase of {}: ", escape::path(path));
            let secret = match known {
                Some(known) => Passphrase::new(known.text()?.as_bytes())?,
                None => passphrase::existing(secrets.passphrase_file.as_deref(), &prompt)?,
            };
            wrapped::unwrap(&contents, &Opener::Passphrase(passphrase.insert(secret)))
        }
    };
    let keyset = keyset.with_context(in_file)?;
    Ok(Opened { keyset, lock: Some(lock), passphrase })
}

/// The contents of a key file with this keyset, wrapped or plain.
pub fn file_contents(keyset: &Keyset, lock: Option<&Lock<'_>>) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(Zeroizing::new(match lock {
        Some(lock) => wrapped::wrap(keyset, lock)?,
        None => keyset.to_json().as_bytes().to_vec(),
    }))
}

fn raw_key(path: &Path) -> anyhow::Result<RawKey> {
    RawKey::parse(&read_key_file(path)?).with_context(|| escape::path(path))
}

/// Reads a key file, and warns if others may read it too and it is not wrapped.
fn read_key_file(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = key::read_secret(path, SECRET_LIMIT).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let hint = if is_missing { "`cipherloom keygen -o FILE` makes a keyset" } else { "" };
        no_key(at(path, format_args!("cannot read the key file: {error}")), hint)
    })?;
    if file.is_open_to_others && !wrapped::is_wrapped(&file.contents) {
        warn_of_readers(path, "this key file");
    }
    Ok(file.contents)
}

/// Reads another file with a secret: an identity, a passphrase. `what`: "the identity file".
pub fn read_secret(path: &Path, what: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    Ok(read_secret_up_to(SECRET_LIMIT, path, what)?.contents)
}

/// The same with a limit in bytes, and with whether others may read the file.
pub fn read_secret_up_to(limit: usize, path: &Path, what: &str) -> anyhow::Result<key::SecretFile> {
    key::read_secret(path, limit)
        .map_err(|error| no_key(at(path, format_args!("cannot read {what}: {error}")), ""))
}

/// Warns that others may read `what`, a secret in this file.
pub fn warn_of_readers(path: &Path, what: &str) {
    output::warn(at(path, format_args!("others may read {what}; `chmod 600` keeps it yours")));
}

/// Decodes hexadecimal digits; `None` if there are not two for each byte, or others among them.
pub fn from_digits<const N: usize>(digits: &str) -> Option<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    if digits.len() != 2 * N || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iv_is_32_digits() {
        assert_eq!(from_digits::<16>("000102030405060708090a0b0c0d0e0f").unwrap()[15], 15);
        for bad in ["", "00", "zz0102030405060708090a0b0c0d0e0f", "+0+1+2+3+4+5+6+7+8+9+a+b+c+d+e+f"] {
            assert!(from_digits::<16>(bad).is_none(), "{bad}");
        }
    }
}
