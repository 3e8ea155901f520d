//! Checking publications and licences: what can be seen without a key, and with one that every resource opens.

use super::{Task, run};
use crate::container::{Archive, Source};
use crate::licence::{LARGEST_LICENCE, Licence, LicenceFault, Moment, Roots, UserKey};
use crate::resource::{Opener, check_form};
use crate::{ContentKey, Error, Kind, ProtectedResource, Protection};
use cipherloom_kernels::{Aes, Backend};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What to check with. What is not given is not checked, and [`Checked::unchecked`] says so.
#[derive(Debug, Default)]
pub struct Check {
    /// The reader's key, to open what is checked.
    pub user_key: Option<UserKey>,
    /// The root certificates of the licence authority.
    pub roots: Option<Roots>,
    /// A licence for publications that have none inside.
    pub licence: Option<Licence>,
    /// When the rights must allow reading; `None` for now.
    pub moment: Option<Moment>,
}

/// What kind of thing was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Not known: it could not be read so far.
    Unknown,
    /// A licence by itself.
    Licence,
    /// A publication.
    Publication(Kind),
}

/// What a licence says of itself.
#[derive(Debug, Clone)]
pub struct LicenceSummary {
    /// Its identifier.
    pub id: String,
    /// Its provider.
    pub provider: String,
    /// Its encryption profile.
    pub profile: String,
    /// Whose certificate signed it; `None` if the signature does not verify.
    pub signed_by: Option<String>,
}

/// The verdict on one publication or licence.
#[derive(Debug)]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub subject: Subject,
    /// Its licence, if it has one that can be read.
    pub licence: Option<LicenceSummary>,
    /// Protected resources.
    pub resources: usize,
    /// How many of them were opened and found to be as they should.
    pub opened: usize,
    /// Bytes of content of the opened ones.
    pub bytes: u64,
    /// Everything that is wrong; a sound publication has none.
    pub problems: Vec<Error>,
    /// What was not looked at, and what it would take.
    pub unchecked: Vec<&'static str>,
}

impl Checked {
    fn new(path: &Path) -> Checked {
        Checked {
            path: path.to_owned(),
            subject: Subject::Unknown,
            licence: None,
            resources: 0,
            opened: 0,
            bytes: 0,
            problems: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    /// Whether nothing is wrong with it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks every file, with `workers` threads; `verdict` gets each when it is known, from any of them.
pub fn check(files: &[PathBuf], check: &Check, workers: NonZeroUsize, verdict: &(dyn Fn(Checked) + Sync)) {
    check_unless(files, check, workers, verdict, &|| false);
}

/// As [`check`], but gives up when `is_stopped` says so, which is asked often and by every worker; what is not known by
/// then gets no verdict.
pub fn check_unless(
    files: &[PathBuf],
    check: &Check,
    workers: NonZeroUsize,
    verdict: &(dyn Fn(Checked) + Sync),
    is_stopped: &(dyn Fn() -> bool + Sync),
) {
    run(&Checking { files, check, verdict, is_stopped }, files.len(), workers);
}

struct Checking<'c> {
    files: &'c [PathBuf],
    check: &'c Check,
    verdict: &'c (dyn Fn(Checked) + Sync),
    is_stopped: &'c (dyn Fn() -> bool + Sync),
}

struct Open {
    archive: Archive,
    /// For each entry the protected resource that it is.
    resources: Vec<Option<ProtectedResource>>,
    key: Option<Aes>,
    checked: Mutex<Checked>,
}

impl Task for Checking<'_> {
    type Open = Open;
    type Worker = Opener;

    fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }

    fn open(&self, index: usize, _: &mut Opener) -> Option<(Open, usize)> {
        let mut checked = Checked::new(&self.files[index]);
        match self.look_at(&mut checked) {
            Ok(Some(open)) => {
                let parts = open.archive.entries().len();
                *lock(&open.checked) = checked;
                Some((open, parts))
            }
            result => {
                checked.problems.extend(result.err());
                (self.verdict)(checked);
                None
            }
        }
    }

    fn part(&self, open: &Open, part: usize, opener: &mut Opener) {
        let entry = &open.archive.entries()[part];
        let go_on = &mut |_: &[u8]| match (self.is_stopped)() {
            true => Err(cipherloom::Error::Stopped.into()),
            false => Ok(()),
        };
        let result = match (&open.resources[part], &open.key) {
            (Some(resource), Some(key)) => opener.open(&open.archive, resource, key, go_on).map(Some),
            (resource, _) => {
                let form = resource.as_ref().map_or(Ok(()), |resource| check_form(entry, resource));
                form.and_then(|()| open.archive.read_to(entry, go_on)).map(|()| None)
            }
        };
        match result {
            Ok(None) => {}
            Ok(Some(opened)) => {
                let mut checked = lock(&open.checked);
                checked.opened += 1;
                checked.bytes += opened.len;
            }
            Err(error) => lock(&open.checked).problems.push(error),
        }
    }

    fn close(&self, open: &Open, _: &mut Opener) {
        let mut checked = std::mem::replace(&mut *lock(&open.checked), Checked::new(Path::new("")));
        checked.problems.extend(open.archive.source().check_unchanged().err());
        // A worker may have stopped within the last part.
        if !(self.is_stopped)() {
            (self.verdict)(checked);
        }
    }
}

impl Checking<'_> {
    /// Everything before the resources. `None`: a licence by itself.
    fn look_at(&self, checked: &mut Checked) -> Result<Option<Open>, Error> {
        let source = Source::open(&checked.path)?;
        if let Some(text) = licence_alone(&source)? {
            checked.subject = Subject::Licence;
            let licence = Licence::parse(&text)?;
            self.check_licence(&licence, checked);
            return Ok(None);
        }
        let archive = Archive::read(source)?;
        let protection = Protection::read(&archive)?;
        checked.subject = Subject::Publication(protection.kind);
        checked.resources = protection.resources.len();
        if protection.resources.is_empty() {
            checked.problems.push(Error::NotProtected);
        }
        let key = match embedded_licence(&archive, protection.kind) {
            Ok(None) => match &self.check.licence {
                None => {
                    checked.unchecked.push("no licence inside, so no resource was opened (--license FILE)");
                    None
                }
                Some(licence) => {
                    let key = self.check_licence(licence, checked);
                    checked.problems.extend(check_link(licence, &archive).err());
                    key
                }
            },
            Ok(Some(licence)) => self.check_licence(&licence, checked),
            Err(error) => {
                checked.problems.push(error);
                None
            }
        };
        let mut resources = vec![None; archive.entries().len()];
        for resource in protection.resources {
            let entry = resource.entry;
            resources[entry] = Some(resource);
        }
        let key = key.and_then(|key| Aes::new(key.bytes(), Backend::best()).ok());
        Ok(Some(Open { archive, resources, key, checked: Mutex::new(Checked::new(Path::new(""))) }))
    }

    /// Notes what is wrong with a licence; the content key, if it can be had.
    fn check_licence(&self, licence: &Licence, checked: &mut Checked) -> Option<ContentKey> {
        let document = licence.document();
        let problems = &mut checked.problems;
        let mut note = |result: Result<(), LicenceFault>| problems.extend(result.err().map(Error::from));
        note(licence.check_completeness());
        let signed_by = match (licence.check_signature(), &self.check.roots) {
            (Err(fault), _) => {
                note(Err(fault));
                None
            }
            (Ok(certificate), roots) => {
                match roots {
                    Some(roots) => note(roots.confirm(&certificate, document.last_changed())),
                    None => checked.unchecked.push("who confirms the certificate (--root-ca FILE)"),
                }
                Some(certificate.subject)
            }
        };
        note(licence.check_rights(self.check.moment.unwrap_or_else(Moment::now)));
        let key = match &self.check.user_key {
            None => {
                checked.unchecked.push("whether it opens (--passphrase-file FILE)");
                None
            }
            Some(user_key) => {
                let key = user_key
                    .content_key(document)
                    .and_then(|key| user_key.user_fields(document).map(|_| key));
                key.map_err(|fault| note(Err(fault))).ok()
            }
        };
        checked.licence = Some(LicenceSummary {
            id: document.id.clone(),
            provider: document.provider.clone(),
            profile: document.encryption.profile.clone(),
            signed_by,
        });
        key
    }
}

/// The text of a file that is a licence and not an archive; `None` if it is something else.
pub(crate) fn licence_alone(source: &Source) -> Result<Option<Vec<u8>>, Error> {
    let mut first = [0; 64];
    let count = first.len().min(usize::try_from(source.len()).unwrap_or(first.len()));
    source.read_exact(&mut first[..count], 0)?;
    let first_letter = first[..count].iter().find(|byte| !byte.is_ascii_whitespace());
    if first_letter != Some(&b'{') {
        return Ok(None);
    }
    read_licence(source.file(), source.len()).map(Some)
}

fn read_licence(file: &File, len: u64) -> Result<Vec<u8>, Error> {
    if len > LARGEST_LICENCE as u64 {
        let length = usize::try_from(len).unwrap_or(usize::MAX);
        return Err(LicenceFault::TooLarge { length, most: LARGEST_LICENCE }.into());
    }
    let mut text = Vec::new();
    file.take(LARGEST_LICENCE as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| Error::io("read the licence", error))?;
    Ok(text)
}

/// The licence inside a publication, if there is one.
pub(crate) fn embedded_licence(archive: &Archive, kind: Kind) -> Result<Option<Licence>, Error> {
    let Some(index) = archive.find(kind.licence_entry()) else { return Ok(None) };
    let text = archive.read_whole(&archive.entries()[index], LARGEST_LICENCE as u64)?;
    Ok(Some(Licence::parse(&text)?))
}

/// Whether a licence that came by itself is the publication's, as far as its link says.
fn check_link(licence: &Licence, archive: &Archive) -> Result<(), Error> {
    let link = licence.document().link("publication");
    match link.and_then(|link| link.length) {
        Some(length) if length != archive.source().len() => {
            Err(Error::OtherPublication { length, found: archive.source().len() })
        }
        _ => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
