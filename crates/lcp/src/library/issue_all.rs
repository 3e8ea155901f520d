//! Licences by the thousand: each made, signed, verified and written by whichever worker is free.

use crate::keys::KeyRecord;
use crate::licence::{Licence, Licensed, Signer, Terms, UserKey, issue};
use crate::{Error, embed};
use cipherloom::{Draft, IfExists, Published};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A licence to be made.
#[derive(Debug)]
pub struct Request<'r> {
    /// What it shall say.
    pub terms: Terms,
    /// The publication's record in the key file.
    pub record: &'r KeyRecord,
    /// The reader's key.
    pub user_key: UserKey,
    /// Where it goes.
    pub place: Place,
}

/// Where a licence goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To this file.
    File(PathBuf),
    /// Into this folder, under its identifier.
    Folder(PathBuf),
    /// Into this publication.
    Publication(PathBuf),
}

impl Place {
    /// The file that one licence takes.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::File(path) | Place::Publication(path) => Some(path),
            Place::Folder(_) => None,
        }
    }
}

/// A licence that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// Its identifier.
    pub id: String,
    /// The file it was written to, or the publication it was put into.
    pub output: PathBuf,
}

/// Makes every licence, with `workers` threads; `told` gets each one's number and end, from any of them. Licences that would
/// take each other's place all fail ([`Error::SameOutput`]).
pub fn issue_all(
    requests: &[Request<'_>],
    signer: &Signer,
    if_exists: IfExists,
    workers: NonZeroUsize,
    told: &(dyn Fn(usize, Result<Issued, Error>) + Sync),
) {
    issue_all_unless(requests, signer, if_exists, workers, told, &|| false);
}

/// As [`issue_all`], but begins no other licence when `is_stopped` says so.
pub fn issue_all_unless(
    requests: &[Request<'_>],
    signer: &Signer,
    if_exists: IfExists,
    workers: NonZeroUsize,
    told: &(dyn Fn(usize, Result<Issued, Error>) + Sync),
    is_stopped: &(dyn Fn() -> bool + Sync),
) {
    let next = AtomicUsize::new(0);
    let mut takers: HashMap<&Path, u32> = HashMap::new();
    for path in requests.iter().filter_map(|request| request.place.path()) {
        *takers.entry(path).or_default() += 1;
    }
    let published = Published::default();
    let work = || {
        while !is_stopped() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = requests.get(number) else { return };
            let is_alone = request.place.path().is_none_or(|path| takers[path] == 1);
            told(
                number,
                if is_alone { request.issue(signer, if_exists, &published) } else { Err(Error::SameOutput) },
            );
        }
    };
    let workers = workers.get().min(requests.len()).max(1);
    cipherloom::on_watched_workers(workers, &work, &|| _ = is_stopped());
}

impl Request<'_> {
    fn issue(&self, signer: &Signer, if_exists: IfExists, published: &Published) -> Result<Issued, Error> {
        // Before the signature, which is the work.
        if let Place::File(path) = &self.place
            && if_exists != IfExists::Overwrite
        {
            let (folder, name) = divided(path);
            if published.finds(folder, name)? || path.symlink_metadata().is_ok() {
                return Err(cipherloom::Error::OutputExists.into());
            }
        }
        let record = self.record;
        let licensed = Licensed {
            id: &record.id,
            content_key: &record.content_key,
            media_type: &record.media_type,
            length: record.protected.size,
            sha256: record.protected.sha256.as_deref(),
            title: &record.protected.name,
        };
        let licence = issue(&self.terms, &licensed, &self.user_key, signer)?;
        let id = licence.document().id.clone();
        let output = match &self.place {
            Place::File(path) => write(&licence, path, if_exists, published)?,
            Place::Folder(folder) => {
                write(&licence, &folder.join(format!("{id}.lcpl")), if_exists, published)?
            }
            Place::Publication(path) => {
                let (folder, name) = divided(path);
                published.finds(folder, name)?;
                embed(path, &licence, if_exists)?;
                path.clone()
            }
        };
        Ok(Issued { id, output })
    }
}

fn write(
    licence: &Licence,
    path: &Path,
    if_exists: IfExists,
    published: &Published,
) -> Result<PathBuf, Error> {
    let draft = Draft::begin(path, if_exists)?;
    draft.write_at(licence.text().as_bytes(), 0)?;
    published.publish(draft)?;
    Ok(path.to_owned())
}

/// A path's folder, and its name in there.
fn divided(path: &Path) -> (&Path, &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")), path.file_name().map_or(path, Path::new))
}
