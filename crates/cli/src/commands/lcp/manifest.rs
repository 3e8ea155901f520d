//! The manifest of `cipherloom lcp license --manifest`: a CSV file with a license to make in each row, and the key file's
//! records by the names that rows give.

use super::csv::{Row, Rows};
use super::secrets;
use crate::arguments::LcpLicenseArguments;
use crate::escape;
use crate::exit_code::{no_key, usage};
use crate::keys::{from_digits, warn_of_readers};
use crate::output::at;
use anyhow::Context;
use cipherloom::key::read_secret;
use cipherloom_lcp::license::{LicenseFault, LicenseOutput, LicenseRequest, Moment, Rights, Terms, UserKey};
use cipherloom_lcp::{Error, KeyRecord};
use std::collections::HashMap;
use std::path::Path;
use zeroize::Zeroizing;

/// The fields of one row by their columns. What is empty is taken from the options.
#[derive(Default)]
pub struct Wanted(HashMap<&'static str, Zeroizing<String>>);

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

/// The rows with their line numbers. A row that cannot be read does not stop the others; two rows with one output do.
pub fn read(path: &Path) -> anyhow::Result<Vec<(u64, anyhow::Result<Wanted>)>> {
    let in_file = || escape::path(path);
    let file = read_secret(path, secrets::MOST_BYTES).with_context(in_file)?;
    let mut rows = Rows::new(&file.contents);
    let header = match rows.next_row().with_context(in_file)? {
        Some(row) => row.fields().map(|name| name.unwrap_or("\u{FFFD}").trim().to_owned()).collect(),
        None => Vec::new(),
    };
    check_header(&header).map_err(|problem| {
        let words = format_args!("its first line {problem}");
        usage(at(path, words), "`cipherloom lcp help license` lists the columns")
    })?;
    let is_secret = |name: &String| name.starts_with("passphrase") && name != COLUMNS[4];
    if file.is_open_to_others && header.iter().any(is_secret) {
        warn_of_readers(path, "the passphrases in it");
    }
    let mut wanted = Vec::new();
    while let Some(row) = rows.next_row().with_context(in_file)? {
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

/// Refuses two rows with one output: the second license would replace the first.
fn check_outputs(path: &Path, rows: &[(u64, anyhow::Result<Wanted>)]) -> anyhow::Result<()> {
    let mut lines: HashMap<&str, u64> = HashMap::new();
    for (line, wanted) in rows {
        let Some(name) = wanted.as_ref().ok().and_then(Wanted::output) else { continue };
        if let Some(other) = lines.insert(name, *line) {
            let words = format_args!("lines {other} and {line} have one output, {name:?}");
            return Err(usage(at(path, format_args!("{words}; nothing was written")), "give each its own"));
        }
    }
    Ok(())
}

impl Wanted {
    /// Reads a row. No message quotes it: it may hold a passphrase.
    fn new(row: &Row<'_>, header: &[String]) -> anyhow::Result<Wanted> {
        anyhow::ensure!(
            row.len() == header.len(),
            "the row does not fit the columns that the first line names: it has {} fields, and there are {} columns",
            row.len(),
            header.len()
        );
        let mut wanted = Wanted::default();
        for (name, field) in header.iter().zip(row.fields()) {
            let text = field.with_context(|| format!("the column `{name}` holds what is no UTF-8"))?;
            let column = COLUMNS.iter().find(|column| *column == name).context("an unknown column")?;
            if !text.is_empty() {
                wanted.0.insert(column, Zeroizing::new(text.to_owned()));
            }
        }
        wanted.number("rights_print").and(wanted.number("rights_copy"))?;
        Ok(wanted)
    }

    fn get(&self, column: &'static str) -> Option<&str> {
        self.0.get(column).map(|text| text.as_str())
    }

    fn number(&self, column: &'static str) -> anyhow::Result<Option<i64>> {
        let number = self.get(column).map(|text| text.trim().parse()).transpose();
        number.ok().with_context(|| format!("the column `{column}` holds what is no whole number"))
    }

    fn moment(&self, column: &'static str) -> anyhow::Result<Option<Moment>> {
        let moment = self.get(column).map(|text| Moment::parse(text, column)).transpose();
        Ok(moment.map_err(Error::from)?)
    }

    /// The publication's identifier, or its file's name.
    pub fn publication(&self) -> &str {
        self.get("publication").unwrap_or_default()
    }

    /// The output's name, if the row gives one.
    fn output(&self) -> Option<&str> {
        self.get("output").map(str::trim).filter(|name| !name.is_empty())
    }

    /// The license that this row asks for; the options serve for what the row leaves empty.
    pub fn request<'r>(
        &self,
        arguments: &LcpLicenseArguments,
        keys: &Keys<'r>,
        folder: &Path,
    ) -> anyhow::Result<LicenseRequest<'r>> {
        let record = keys.of_name(self.publication())?;
        let output = match self.output() {
            None => LicenseOutput::Folder(folder.to_owned()),
            Some(name) if Path::new(name).file_name() == Some(name.as_ref()) => {
                LicenseOutput::File(folder.join(name))
            }
            Some(name) => return Err(usage(format!("the output {name:?} is not a plain file name"), "")),
        };
        let user_key = self.user_key(arguments.passphrase_file.as_deref())?;
        let terms = self.terms(arguments)?;
        if terms.hint.is_empty() {
            return Err(usage("no hint, neither in the row nor with --hint", ""));
        }
        Ok(LicenseRequest { terms, record, user_key, output })
    }

    /// What the license shall say: each term is in a column, or else in an option.
    pub fn terms(&self, arguments: &LcpLicenseArguments) -> anyhow::Result<Terms> {
        let text = |column, option: &Option<String>| self.get(column).map(String::from).or(option.clone());
        let moment = |column, option: &Option<String>, name| -> anyhow::Result<Option<Moment>> {
            let given = option.as_deref().map(|text| Moment::parse(text, name)).transpose();
            Ok(self.moment(column)?.or(given.map_err(|fault: LicenseFault| usage(fault.to_string(), ""))?))
        };
        let rights = &arguments.rights;
        let mut terms = Terms::new(&arguments.provider);
        terms.hint = text("hint", &arguments.hint).unwrap_or_default();
        terms.hint_url = text("hint_url", &arguments.hint_url).unwrap_or(terms.hint_url);
        terms.publication_url =
            text("publication_url", &arguments.publication_url).unwrap_or(terms.publication_url);
        terms.status_url = text("status_url", &arguments.status_url);
        terms.user_id = text("user", &arguments.user).unwrap_or_default();
        terms.set_user_field("name", text("user_name", &arguments.user_name));
        terms.set_user_field("email", text("user_email", &arguments.user_email));
        terms.encrypted_fields.clone_from(&arguments.encrypt_user);
        terms.encrypt_given_fields();
        terms.rights = Rights {
            print: self.number("rights_print")?.or(rights.rights_print),
            copy: self.number("rights_copy")?.or(rights.rights_copy),
            start: moment("rights_start", &rights.rights_start, "--rights-start")?,
            end: moment("rights_end", &rights.rights_end, "--rights-end")?,
        };
        Ok(terms)
    }

    fn user_key(&self, usual: Option<&Path>) -> anyhow::Result<UserKey> {
        let columns = ["passphrase", "passphrase_sha256", "passphrase_file"];
        let mut given = columns.into_iter().filter_map(|column| Some((column, self.get(column)?)));
        let first = given.next();
        if given.next().is_some() {
            let hint = "fill one column of passphrase, passphrase_sha256, passphrase_file";
            return Err(usage("more than one passphrase", hint));
        }
        match first {
            Some(("passphrase", passphrase)) => Ok(UserKey::basic(passphrase)),
            Some(("passphrase_sha256", digits)) => {
                let key = from_digits(digits).map(|key| UserKey::from_bytes(&key));
                key.ok_or_else(|| no_key("passphrase_sha256 wants 64 hexadecimal digits", ""))
            }
            file => match file.map(|(_, file)| Path::new(file)).or(usual) {
                Some(file) => secrets::new_user_key(Some(file)),
                None => Err(no_key("no passphrase, neither in the row nor with --passphrase-file", "")),
            },
        }
    }
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
            // The file itself shows which of them it is.
            Some(None) if Path::new(name).is_file() => self.of_file(Path::new(name)),
            Some(None) => Err(no_key(
                format!("{name:?} is the name of several publications in the key file"),
                "give its identifier",
            )),
            None => {
                let words = "is in the key file neither as an identifier nor as a file's name";
                Err(no_key(format!("{name:?} {words}"), ""))
            }
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
        let user_key = |digits: &str| {
            let fields = HashMap::from([("passphrase_sha256", Zeroizing::new(digits.to_owned()))]);
            Wanted(fields).user_key(None)
        };
        assert_eq!(user_key(digits).unwrap().open(&sealed).unwrap().as_slice(), b"text");
        for bad in ["", "ba", &digits.replace('b', "g"), &digits.replace("ba", "é")] {
            assert!(user_key(bad).is_err(), "{bad}");
        }
    }
}
