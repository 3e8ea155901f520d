//! Which identifier and key a publication gets: new ones, or those of its record in the key file.
//!
//! A license opens a publication by its key, so a publication that was sold keeps identifier and key for ever. A run that
//! would give it new ones is refused, unless an earlier run stopped between the record and the output's name: then nobody
//! has the publication, and the record is taken up again.

use super::checksum::{self, ReadBack};
use super::{Job, Publication, naming};
use crate::Error;
use crate::keys::{ContentKey, KeyRecord, fingerprint_of, random_uuid, stem};
use crate::notification::{Generation, MOST_BYTES_V2, Notice};
use crate::package::Package;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The identifiers and the key of one publication, and what a license server is notified of.
pub(super) struct Named {
    pub(super) id: String,
    pub(super) alt_id: String,
    pub(super) key: ContentKey,
    /// The output's absolute path, if a key file can hold it.
    pub(super) output: Option<PathBuf>,
    pub(super) notice: Option<Notice>,
}

impl Named {
    /// Fails if the server does not accept a publication of so many bytes.
    pub(super) fn check_size(&self, length: u64) -> Result<(), Error> {
        let is_v2 = self.notice.as_ref().is_some_and(|notice| notice.version == Generation::V2);
        if is_v2 && length > MOST_BYTES_V2 {
            return Err(Error::TooLargeForServer { length });
        }
        Ok(())
    }
}

/// The key file's records that may be about this run's publications.
pub(super) struct Known<'j> {
    job: &'j Job,
    /// Sources of the run by their names' stems.
    stems: HashMap<String, u32>,
    /// The same by folders and stems.
    long_stems: HashMap<String, u32>,
    /// In the key file's order: of several about one publication the last counts.
    records: Vec<KeyRecord>,
    /// Places of records by the stems by which they may be looked for.
    by_stem: HashMap<String, Vec<usize>>,
}

impl<'j> Known<'j> {
    pub(super) fn new(job: &'j Job) -> Known<'j> {
        let (mut stems, mut long_stems) = (HashMap::new(), HashMap::new());
        for source in &job.sources {
            *stems.entry(source_stem(source)).or_default() += 1;
            *long_stems.entry(long_stem(source)).or_default() += 1;
        }
        Known { job, stems, long_stems, records: Vec::new(), by_stem: HashMap::new() }
    }

    /// Keeps a record if it may be about one of the run's publications.
    pub(super) fn add(&mut self, record: KeyRecord) {
        let at = self.records.len();
        let names = [&record.id, record.alt_id(), stem(&record.source.name), stem(&record.protected.name)];
        let names: HashSet<&str> = names.into_iter().filter(|&name| self.stems.contains_key(name)).collect();
        if names.is_empty() && self.job.identity.id.as_ref() != Some(&record.id) {
            return;
        }
        for name in names {
            self.by_stem.entry(name.to_owned()).or_default().push(at);
        }
        self.records.push(record);
    }

    /// Identifiers and key of a publication whose output path is `output`.
    pub(super) fn name(
        &self,
        source: &Publication,
        package: &Package,
        output: &Path,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Named, Error> {
        let absolute = std::path::absolute(output).ok();
        let identity = &self.job.identity;
        let earlier = match &identity.id {
            Some(id) if identity.update => self.of_id(id)?,
            None if identity.update => Some(self.updated(source, output, absolute.as_deref())?),
            id => {
                let found = self.resumed(source, package, output, absolute.as_deref(), read_back)?;
                match id {
                    Some(id) if found.is_none_or(|record| record.id != *id) => self.unused(id)?,
                    _ => found,
                }
            }
        };
        if let (Some(record), Some(key)) = (earlier, &identity.content_key)
            && record.content_key != *key
        {
            return Err(Error::OtherContentKey { id: record.id.clone() });
        }
        let id = match earlier.map(|record| &record.id).or(identity.id.as_ref()) {
            Some(id) => id.clone(),
            None => random_uuid()?,
        };
        let key = match earlier.map(|record| &record.content_key).or(identity.content_key.as_ref()) {
            Some(key) => key.clone(),
            None => ContentKey::generate()?,
        };
        let alt_id = identity.alt_id.as_deref().or(earlier.map(KeyRecord::alt_id)).map(str::to_owned);
        let alt_id = alt_id.unwrap_or_else(|| self.new_alt_id(source, &id));
        let notice = identity.recipient.as_ref().map(|recipient| Notice {
            version: recipient.generation,
            server: recipient.url.clone(),
            provider: recipient.provider.clone(),
            location: recipient.location(naming::relative(self.job, output)),
            authors: package.metadata.authors.clone(),
            publishers: package.metadata.publishers.clone(),
            description: package.metadata.description.clone(),
            // What is not there yet, it gets.
            update: identity.update || earlier.is_some(),
            sent: false,
        });
        Ok(Named { id, alt_id, key, output: absolute.filter(|path| path.to_str().is_some()), notice })
    }

    /// The record of an identifier that was given for an update.
    fn of_id(&self, id: &str) -> Result<Option<&KeyRecord>, Error> {
        match self.records.iter().rfind(|record| record.id == *id) {
            // The key of a publication that another program protected comes with it.
            None if self.job.identity.content_key.is_none() => Err(Error::NothingToUpdate),
            found => Ok(found),
        }
    }

    /// Nothing; an error if a publication has this identifier.
    fn unused(&self, id: &str) -> Result<Option<&KeyRecord>, Error> {
        match self.records.iter().any(|record| record.id == *id) {
            true => Err(Error::ProtectedBefore { id: id.to_owned() }),
            false => Ok(None),
        }
    }

    /// The record of a publication that is to be updated. The output that is there says best which it is.
    fn updated(
        &self,
        source: &Publication,
        output: &Path,
        absolute: Option<&Path>,
    ) -> Result<&KeyRecord, Error> {
        if output.exists() {
            let fingerprint = fingerprint_of(output).map_err(|error| match error {
                Error::NotProtected => Error::KeyMissing,
                error => error,
            })?;
            let record = self.candidates(source).rfind(|record| record.fingerprint == fingerprint);
            return record.ok_or(Error::KeyMissing);
        }
        if let Some(record) = self.candidates(source).rfind(|record| is_at(record, absolute)) {
            return Ok(record);
        }
        let ids: BTreeSet<&str> = self.candidates(source).map(|record| record.id.as_str()).collect();
        if ids.len() > 1 {
            return Err(Error::SeveralRecords { ids: ids.into_iter().collect::<Vec<_>>().join(", ") });
        }
        self.candidates(source).next_back().ok_or(Error::NothingToUpdate)
    }

    /// The record that a stopped run left of this publication, if it did; an error if the publication was protected.
    fn resumed(
        &self,
        source: &Publication,
        package: &Package,
        output: &Path,
        absolute: Option<&Path>,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Option<&KeyRecord>, Error> {
        if self.candidates(source).next().is_none() {
            return Ok(None);
        }
        let before = |record: &KeyRecord| Err(Error::ProtectedBefore { id: record.id.clone() });
        let is_there = output.exists();
        if is_there && let Ok(fingerprint) = fingerprint_of(output) {
            let found = self.candidates(source).rfind(|record| record.fingerprint == fingerprint);
            if let Some(record) = found {
                return before(record);
            }
        }
        let mut hashed = None;
        let mut is_same = |record: &KeyRecord| -> Result<bool, Error> {
            let file = package.source();
            if record.source.size != file.len() || stem(&record.source.name) != source_stem(source) {
                return Ok(false);
            }
            let Some(sha256) = &record.source.sha256 else { return Ok(true) };
            if hashed.is_none() {
                hashed = Some(checksum::of_source(file, read_back)?);
            }
            Ok(hashed.as_ref() == Some(sha256))
        };
        if let Some(record) = self.candidates(source).rfind(|record| is_at(record, absolute)) {
            return if !is_there && is_same(record)? { Ok(Some(record)) } else { before(record) };
        }
        // In another output folder; in this one, books of one name and content are several copies.
        let folder = &self.job.out;
        let out = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        let relative = naming::relative(self.job, output);
        for record in self.candidates(source) {
            let is_elsewhere =
                record.output.as_ref().is_none_or(|path| !path.starts_with(&out) && path.ends_with(relative));
            if is_elsewhere && is_same(record)? {
                return before(record);
            }
        }
        Ok(None)
    }

    fn candidates(&self, source: &Publication) -> impl DoubleEndedIterator<Item = &KeyRecord> {
        let places = self.by_stem.get(&source_stem(source)).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|&at| &self.records[at])
    }

    /// The source's name without its extension; where another publication has that name too, with its folders in front;
    /// and if it is still not unique, with the beginning of the identifier.
    fn new_alt_id(&self, source: &Publication, id: &str) -> String {
        let stem = source_stem(source);
        let is_taken = |alt_id: &str| self.candidates(source).any(|record| record.alt_id() == alt_id);
        if self.stems.get(&stem) == Some(&1) && !is_taken(&stem) {
            return stem;
        }
        let long = long_stem(source);
        match self.long_stems.get(&long) {
            Some(1) if !is_taken(&long) => long,
            _ => format!("{long}-{}", id.get(..8).unwrap_or(id)),
        }
    }
}

fn is_at(record: &KeyRecord, absolute: Option<&Path>) -> bool {
    absolute.is_some() && record.output.as_deref() == absolute
}

fn source_stem(source: &Publication) -> String {
    source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// With the names of the folders below the one that was searched: `shelf-book`.
fn long_stem(source: &Publication) -> String {
    let folders = source.folder.iter().map(|folder| folder.to_string_lossy());
    folders.chain([source_stem(source).into()]).collect::<Vec<_>>().join("-")
}
