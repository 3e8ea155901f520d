//! Licenses by the thousand: each made, signed, verified and written by whichever thread is free.

use super::issue::issue;
use super::{Signer, Terms, UserKey};
use crate::keys::KeyRecord;
use crate::report::{Counts, Outcome, Report};
use crate::{Error, embed};
use cipherloom::internal::engine::Workers;
use cipherloom::{
    IfExists, Observer,
    internal::{Draft, Published},
};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A license to be made.
#[derive(Debug)]
pub struct LicenseRequest<'r> {
    /// What it shall say.
    pub terms: Terms,
    /// The publication's record in the key file.
    pub record: &'r KeyRecord,
    /// The reader's key.
    pub user_key: UserKey,
    /// Where it goes.
    pub output: LicenseOutput,
}

/// Where a license goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LicenseOutput {
    /// To this file.
    File(PathBuf),
    /// Into this folder, under its identifier.
    Folder(PathBuf),
    /// Into this publication.
    Publication(PathBuf),
}

impl LicenseOutput {
    /// The file that one license takes.
    fn file(&self) -> Option<&Path> {
        match self {
            LicenseOutput::File(path) | LicenseOutput::Publication(path) => Some(path),
            LicenseOutput::Folder(_) => None,
        }
    }
}

/// A license that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// Its identifier.
    pub id: String,
    /// The file it was written to, or the publication it was put into.
    pub output: PathBuf,
}

/// Makes every license, with up to `threads` threads; each is signed, verified and written by whichever thread is free.
/// `ended` gets each request's number and outcome, from any of them. Licenses that would overwrite each other all fail
/// ([`Error::SameOutput`]). When `observer` stops the run, no other license is begun.
///
/// # Errors
/// [`cipherloom::Error::Internal`] if a thread panicked. What goes wrong with single licenses is passed to `ended`.
pub fn issue_all(
    requests: &[LicenseRequest<'_>],
    signer: &Signer,
    if_exists: IfExists,
    threads: NonZeroUsize,
    observer: &dyn Observer,
    ended: &(dyn Fn(usize, Outcome<Issued>) + Sync),
) -> Result<Report, Error> {
    let mut takers: HashMap<&Path, u32> = HashMap::new();
    for path in requests.iter().filter_map(|request| request.output.file()) {
        *takers.entry(path).or_default() += 1;
    }
    let (published, counts) = (Published::default(), Counts::start());
    let workers = Workers::new(threads.get().min(requests.len()), observer);
    workers.run_each(
        requests.len(),
        || (),
        |number, ()| {
            let request = &requests[number];
            let is_alone = request.output.file().is_none_or(|path| takers[path] == 1);
            let issued = match is_alone {
                true => request.issue(signer, if_exists, &published),
                false => Err(Error::SameOutput),
            };
            let outcome = match issued {
                Ok(issued) => {
                    counts.count_done(0, 0);
                    Outcome::Done(issued)
                }
                Err(error) if if_exists == IfExists::Skip && request.is_there(&error) => {
                    counts.count_skipped();
                    Outcome::Skipped
                }
                Err(error) => {
                    counts.count_failed(std::slice::from_ref(&error));
                    Outcome::Failed(error)
                }
            };
            workers.entry_ended();
            ended(number, outcome);
        },
    )?;
    Ok(counts.report())
}

impl LicenseRequest<'_> {
    /// Whether `error` says that an earlier run made the output: a link or folder in its place is none.
    fn is_there(&self, error: &Error) -> bool {
        match (error, &self.output) {
            (Error::HasLicense, _) => true,
            (Error::Library(cipherloom::Error::OutputExists), LicenseOutput::File(path)) => is_output(path),
            _ => false,
        }
    }

    fn issue(&self, signer: &Signer, if_exists: IfExists, published: &Published) -> Result<Issued, Error> {
        // Before the signature, which is the work.
        if let LicenseOutput::File(path) = &self.output
            && if_exists != IfExists::Overwrite
        {
            let (folder, name) = divided(path);
            if published.finds(folder, name)? || path.symlink_metadata().is_ok() {
                return Err(cipherloom::Error::OutputExists.into());
            }
        }
        let license = issue(&self.terms, self.record, &self.user_key, signer)?;
        let id = license.document().id.clone();
        let output = match &self.output {
            LicenseOutput::File(path) => path.clone(),
            LicenseOutput::Folder(folder) => folder.join(format!("{id}.lcpl")),
            LicenseOutput::Publication(path) => {
                let (folder, name) = divided(path);
                published.finds(folder, name)?;
                embed(path, &license, if_exists)?;
                return Ok(Issued { id, output: path.clone() });
            }
        };
        let draft = Draft::begin(&output, if_exists)?;
        draft.write_at(license.text().as_bytes(), 0)?;
        published.publish(draft)?;
        Ok(Issued { id, output })
    }
}

/// Whether there is a file at `path`, no folder and no link, which an earlier run may have written.
pub(crate) fn is_output(path: &Path) -> bool {
    let (folder, name) = divided(path);
    Draft::is_there(folder, name)
}

/// A path's folder, and its name in there.
fn divided(path: &Path) -> (&Path, &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")), path.file_name().map_or(path, Path::new))
}
