//! age files, keys and plugins.

use cipherloom::Format;
use cipherloom::age::{ArmorReader, ArmorWriter, Identity, NoPrompt, Prompt, Recipient};
use cipherloom::internal::hear_plugin;
use cipherloom::stream::{self, Decryptor};
use std::io::{Read, Write};
use std::sync::{Arc, LazyLock};

/// Public, from age's testkit; opens the seeds of `age_stream`.
const IDENTITY: &str = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0";

static FORMAT: LazyLock<Format> = LazyLock::new(|| {
    let identity = Identity::parse(IDENTITY).expect("an identity");
    Format::age_from([identity]).expect("one identity is enough")
});

/// A file: in memory and as a stream of unknown length, opening comes to the same.
pub fn age_stream(file: &[u8]) {
    let whole = stream::decrypt_with_format(file, &FORMAT, b"").ok().map(|plaintext| plaintext.to_vec());
    let mut read = Vec::new();
    let decryptor = Decryptor::with_format(file, &FORMAT, b"").ok();
    let is_read = decryptor.is_some_and(|mut decryptor| decryptor.read_to_end(&mut read).is_ok());
    assert_eq!(whole, is_read.then_some(read));
}

/// Armor: what is read is written again as it was, but for white space around it and the ends of lines.
pub fn age_armor(text: &[u8]) {
    let mut binary = Vec::new();
    if ArmorReader::new(text).read_to_end(&mut binary).is_err() || binary.is_empty() {
        return;
    }
    let mut writer = ArmorWriter::new(Vec::new());
    writer.write_all(&binary).expect("memory takes it");
    let again = writer.finish().expect("memory takes it");
    let unix: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'\r').collect();
    assert_eq!(again.trim_ascii(), unix.trim_ascii());
}

/// Recipients, identities and their files: what is accepted is accepted again as it is shown.
pub fn age_keys(contents: &[u8]) {
    let prompt: Arc<dyn Prompt> = Arc::new(NoPrompt);
    let _ = Recipient::parse_file(contents, &prompt);
    for identity in Identity::parse_file(contents, &prompt).unwrap_or_default() {
        if let Some(text) = identity.to_secret_text() {
            let again = Identity::parse(&text).expect("what is shown is an identity");
            assert_eq!(again.recipient().to_string(), identity.recipient().to_string());
        }
    }
    if let Some(recipient) = std::str::from_utf8(contents).ok().and_then(|text| Recipient::parse(text).ok()) {
        let shown = recipient.to_string();
        assert_eq!(Recipient::parse(&shown).expect("what is shown is a recipient").to_string(), shown);
    }
}

/// A plugin that says these bytes, in both state machines.
pub fn age_plugin(said: &[u8]) {
    hear_plugin(said);
}
