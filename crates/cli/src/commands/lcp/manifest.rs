//! The manifest of `cipherloom lcp license --manifest`: a CSV file with a licence to make in each row, and the key file's
//! records by the names that rows give.

use super::csv::{Row, Rows};
use super::secrets;
use crate::exit_code::{no_key, usage};
use crate::output;
use anyhow::Context;
use cipherloom::key::read_secret;
use cipherloom_lcp::licence::{Moment, Terms, UserKey};
use cipherloom_lcp::{Error, KeyRecord, Place, Request};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// One row, as it stands. What is empty is taken from the options.
#[derive(Default)]
pub struct Wanted {
    /// The publication's identifier, or its file's name.
    pub publication: String,
    output: Option<String>,
    passphrase: Option<Zeroizing<String>>,
    passphrase_sha256: Option<Zeroizing<String>>,
    passphrase_file: Option<PathBuf>,
    hint: Option<String>,
    user: Option<String>,
    user_name: Option<String>,
    user_email: Option<String>,
    rights_start: Option<String>,
    rights_end: Option<String>,
    rights_print: Option<i64>,
    rights_copy: Option<i64>,
    publication_url: Option<String>,
    hint_url: Option<String>,
    status_url: Option<String>,
}

/// The columns that there can be.
const COLUMNS: [&str; 16] = [
    "publication",
    "output",
    "passphrase",
    "passphrase_sha256",
    "passphrase_file",
    "hint",
    "user",
    "user_name",
    "user_email",
    "rights_start",
    "rights_end",
    "rights_print",
    "rights_copy",
    "publication_url",
    "hint_url",
    "status_url",
];

/// The rows with their line numbers; a row that cannot be read does not stop the others. Two rows with one output do.
pub fn read(path: &Path) -> anyhow::Result<Vec<(u64, anyhow::Result<Wanted>)>> {
    let file = read_secret(path, secrets::MOST_BYTES).with_context(|| output::printable(path))?;
    let mut rows = Rows::new(&file.contents);
    let header = match rows.next_row().with_context(|| output::printable(path))? {
        Some(row) => row.fields().map(|name| name.unwrap_or("\u{FFFD}").trim().to_owned()).collect(),
        None => Vec::new(),
    };
    check_header(&header).map_err(|problem| {
        let path = output::printable(path);
        usage(format!("{path}: its first line {problem}; see `cipherloom lcp help license`"))
    })?;
    if file.is_open_to_others
        && header.iter().any(|name| name.starts_with("passphrase") && name != COLUMNS[4])
    {
        let path = output::printable(path);
        output::warn(format_args!(
            "{path}: others may read the passphrases in it; `chmod 600` keeps it yours"
        ));
    }
    let mut wanted = Vec::new();
    while let Some(row) = rows.next_row().with_context(|| output::printable(path))? {
        wanted.push((row.line, Wanted::new(&row, &header)));
    }
    check_outputs(path, &wanted)?;
    Ok(wanted)
}

fn check_header(header: &[String]) -> Result<(), String> {
    for (at, name) in header.iter().enumerate() {
        if !COLUMNS.contains(&name.as_str()) {
            return Err(format!("names the column {name:?}, which is unknown"));
        }
        if header[..at].contains(name) {
            return Err(format!("names the column `{name}` twice"));
        }
    }
    match header.iter().any(|name| name == COLUMNS[0]) {
        true => Ok(()),
        false => Err("names no column `publication`".to_owned()),
    }
}

/// Of two licences with one name only one would be left, and nobody could say whose.
fn check_outputs(path: &Path, rows: &[(u64, anyhow::Result<Wanted>)]) -> anyhow::Result<()> {
    let mut lines: HashMap<&str, u64> = HashMap::new();
    for (line, wanted) in rows {
        let Some(name) = wanted.as_ref().ok().and_then(Wanted::output) else { continue };
        if let Some(other) = lines.insert(name, *line) {
            let path = output::printable(path);
            return Err(usage(format!(
                "{path}: lines {other} and {line} have one output, {name:?}; nothing was written, give each its own"
            )));
        }
    }
    Ok(())
}

impl Wanted {
    /// What a row says. No message quotes it: it may hold a passphrase.
    fn new(row: &Row<'_>, header: &[String]) -> anyhow::Result<Wanted> {
        anyhow::ensure!(
            row.len() == header.len(),
            "the row does not fit the columns that the first line names: it has {} fields, and there are {} columns",
            row.len(),
            header.len()
        );
        let mut wanted = Wanted::default();
        for (name, field) in header.iter().zip(row.fields()) {
            let unfit = |what| move || anyhow::anyhow!("the column `{name}` holds what is no {what}");
            let text = field.with_context(unfit("UTF-8"))?;
            if text.is_empty() {
                continue;
            }
            let number = || text.trim().parse().map(Some).ok().with_context(unfit("whole number"));
            match name.as_str() {
                "publication" => wanted.publication = text.to_owned(),
                "output" => wanted.output = Some(text.to_owned()),
                "passphrase" => wanted.passphrase = Some(Zeroizing::new(text.to_owned())),
                "passphrase_sha256" => wanted.passphrase_sha256 = Some(Zeroizing::new(text.to_owned())),
                "passphrase_file" => wanted.passphrase_file = Some(text.into()),
                "hint" => wanted.hint = Some(text.to_owned()),
                "user" => wanted.user = Some(text.to_owned()),
                "user_name" => wanted.user_name = Some(text.to_owned()),
                "user_email" => wanted.user_email = Some(text.to_owned()),
                "rights_start" => wanted.rights_start = Some(text.to_owned()),
                "rights_end" => wanted.rights_end = Some(text.to_owned()),
                "rights_print" => wanted.rights_print = number()?,
                "rights_copy" => wanted.rights_copy = number()?,
                "publication_url" => wanted.publication_url = Some(text.to_owned()),
                "hint_url" => wanted.hint_url = Some(text.to_owned()),
                "status_url" => wanted.status_url = Some(text.to_owned()),
                other => anyhow::bail!("the column {other:?} is unknown"),
            }
        }
        Ok(wanted)
    }

    /// The output's name, if the row gives one.
    fn output(&self) -> Option<&str> {
        self.output.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// The licence that this row asks for; `usual` and what follows stand for what the row leaves empty.
    pub fn request<'r>(
        self,
        usual: &Terms,
        hint: Option<&str>,
        passphrase_file: Option<&Path>,
        keys: &Keys<'r>,
        folder: &Path,
    ) -> anyhow::Result<Request<'r>> {
        let record = keys.of_name(&self.publication)?;
        let place = match self.output() {
            None => Place::Folder(folder.to_owned()),
            Some(name) if Path::new(name).file_name() == Some(name.as_ref()) => {
                Place::File(folder.join(name))
            }
            Some(name) => return Err(usage(format!("the output {name:?} is not a plain file name"))),
        };
        let user_key = self.user_key(passphrase_file)?;
        let hint = self.hint.or_else(|| hint.map(String::from));
        let hint = hint.ok_or_else(|| usage("no hint, neither in the row nor with --hint"))?;
        let mut terms = Terms { hint, ..usual.clone() };
        let moment = |text: Option<String>, usual, what| match text {
            Some(text) => Moment::parse(&text, what).map(Some).map_err(Error::from),
            None => Ok(usual),
        };
        terms.rights.start = moment(self.rights_start, terms.rights.start, "rights_start")?;
        terms.rights.end = moment(self.rights_end, terms.rights.end, "rights_end")?;
        terms.rights.print = self.rights_print.or(terms.rights.print);
        terms.rights.copy = self.rights_copy.or(terms.rights.copy);
        terms.status_url = self.status_url.or(terms.status_url);
        for (given, own) in [
            (self.user, &mut terms.user_id),
            (self.publication_url, &mut terms.publication_url),
            (self.hint_url, &mut terms.hint_url),
        ] {
            if let Some(given) = given {
                *own = given;
            }
        }
        for (name, value) in [("name", self.user_name), ("email", self.user_email)] {
            if let Some(value) = value {
                terms.user_fields.retain(|(other, _)| other != name);
                terms.user_fields.push((name.to_owned(), value));
            }
        }
        Ok(Request { terms: only_given(terms), record, user_key, place })
    }

    fn user_key(&self, usual: Option<&Path>) -> anyhow::Result<UserKey> {
        let given =
            [self.passphrase.is_some(), self.passphrase_sha256.is_some(), self.passphrase_file.is_some()];
        if given.iter().filter(|&&given| given).count() > 1 {
            return Err(usage(
                "more than one passphrase; fill one column of passphrase, passphrase_sha256, passphrase_file",
            ));
        }
        if let Some(digits) = &self.passphrase_sha256 {
            return from_digits(digits)
                .ok_or_else(|| no_key("passphrase_sha256 wants 64 hexadecimal digits"));
        }
        match (&self.passphrase, self.passphrase_file.as_deref().or(usual)) {
            (Some(passphrase), _) => Ok(UserKey::basic(passphrase)),
            (None, Some(file)) => secrets::new_user_key(Some(file)),
            (None, None) => Err(no_key("no passphrase, neither in the row nor with --passphrase-file")),
        }
    }
}

/// Only fields with a value can be encrypted.
pub fn only_given(mut terms: Terms) -> Terms {
    terms.encrypted_fields.retain(|name| terms.user_fields.iter().any(|(given, _)| given == name));
    terms
}

fn from_digits(digits: &str) -> Option<UserKey> {
    let mut key = Zeroizing::new([0; 32]);
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(UserKey::from_bytes(&key))
}

/// The key file's records, to be found by what they belong to.
pub struct Keys<'r> {
    records: &'r [KeyRecord],
    /// By identifier and by the protected file's name; `None` where a name is several publications'.
    by_name: HashMap<&'r str, Option<&'r KeyRecord>>,
}

impl<'r> Keys<'r> {
    pub fn new(records: &'r [KeyRecord]) -> Keys<'r> {
        let mut by_name: HashMap<&str, Option<&KeyRecord>> = HashMap::new();
        for record in records {
            let name = by_name.entry(&record.protected.name).or_insert(Some(record));
            // The last record of a publication counts.
            *name = name.filter(|other| other.id == record.id).map(|_| record);
        }
        by_name.extend(records.iter().map(|record| (record.id.as_str(), Some(record))));
        Keys { records, by_name }
    }

    /// The record of the protected publication in this file.
    pub fn of_file(&self, path: &Path) -> anyhow::Result<&'r KeyRecord> {
        Ok(KeyRecord::of_publication(self.records, path)?)
    }

    /// The record of the publication with this identifier, or in a file of this name.
    fn of_name(&self, name: &str) -> anyhow::Result<&'r KeyRecord> {
        let file_name = Path::new(name).file_name().and_then(|name| name.to_str());
        let found = self.by_name.get(name).or_else(|| self.by_name.get(file_name?));
        match found {
            Some(Some(record)) => Ok(record),
            // Which of them, the file itself tells.
            Some(None) if Path::new(name).is_file() => self.of_file(Path::new(name)),
            Some(None) => Err(no_key(format!(
                "{name:?} is the name of several publications in the key file; give its identifier"
            ))),
            None => Err(no_key(format!(
                "{name:?} is in the key file neither as an identifier nor as a file's name"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_the_key_that_the_passphrase_makes() {
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let sealed = UserKey::basic("abc").seal(b"text").unwrap();
        assert_eq!(from_digits(digits).unwrap().open(&sealed).unwrap().as_slice(), b"text");
        for bad in ["", "ba", &digits.replace('b', "g"), &digits.replace("ba", "é")] {
            assert!(from_digits(bad).is_none(), "{bad}");
        }
    }
}
