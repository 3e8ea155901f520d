//! Checking publications and licenses: what can be seen without a key, and with one that every resource opens.

use crate::container::{Archive, Source};
use crate::license::{LARGEST_LICENSE, License, LicenseFault, Moment, Roots, UserKey};
use crate::report::{Counts, Report};
use crate::resource::{Opener, check_form};
use crate::{ContentKey, Error, Kind, ProtectedResource, Protection};
use cipherloom::Observer;
use cipherloom::internal::engine::{Items, Workers, lock};
use cipherloom_kernels::{Aes, Backend};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What to check with. What is not given is not checked, and [`Checked::unchecked`] says so.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// The reader's key, to open what is checked.
    pub user_key: Option<UserKey>,
    /// The root certificates of the license authority.
    pub roots: Option<Roots>,
    /// A license for publications that have none inside.
    pub license: Option<License>,
    /// When the rights must allow reading; `None` for now.
    pub moment: Option<Moment>,
}

/// What kind of thing was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subject {
    /// Not known: it could not be read so far.
    #[default]
    Unknown,
    /// A license by itself.
    License,
    /// A publication.
    Publication(Kind),
}

impl Subject {
    /// A publication's media type, `license` or `unknown`.
    ///
    /// ```
    /// use cipherloom_lcp::{Kind, Subject};
    ///
    /// assert_eq!(Subject::Publication(Kind::Epub).name(), "application/epub+zip");
    /// assert_eq!(Subject::License.name(), "license");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Unknown => "unknown",
            Subject::License => "license",
            Subject::Publication(kind) => kind.media_type(),
        }
    }
}

/// What a license says of itself.
#[derive(Debug, Clone)]
pub struct LicenseSummary {
    /// Its identifier.
    pub id: String,
    /// Its provider.
    pub provider: String,
    /// Its encryption profile.
    pub profile: String,
    /// Whose certificate signed it; `None` if the signature does not verify.
    pub signed_by: Option<String>,
}

/// The verdict on one publication or license.
#[derive(Debug, Default)]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub subject: Subject,
    /// Its license, if it has one that can be read.
    pub license: Option<LicenseSummary>,
    /// Protected resources.
    pub resources: usize,
    /// How many of them were opened and found to be as they should.
    pub opened: usize,
    /// Bytes of content of the opened ones.
    pub bytes: u64,
    /// Everything that is wrong; a sound publication has none.
    pub problems: Vec<Error>,
    /// What was not checked, since [`CheckOptions`] lacks what it takes.
    pub unchecked: Vec<Unchecked>,
}

/// What [`check`] leaves out where an option is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchecked {
    /// No resource was opened: the publication has no license inside, and [`CheckOptions::license`] is `None`.
    Resources,
    /// Who confirms the certificate: [`CheckOptions::roots`] is `None`.
    Certificate,
    /// Whether the license opens: [`CheckOptions::user_key`] is `None`.
    Opening,
}

impl Checked {
    /// Whether nothing is wrong with it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks every file, with up to `threads` threads. `verdict` gets each verdict as soon as it is known, from any of
/// them. When `observer` stops the run, files without a verdict get none.
///
/// # Errors
/// [`cipherloom::Error::Internal`] if a thread panicked. What is wrong with a file is in its verdict.
pub fn check(
    files: &[PathBuf],
    options: &CheckOptions,
    threads: NonZeroUsize,
    observer: &dyn Observer,
    verdict: &(dyn Fn(Checked) + Sync),
) -> Result<Report, Error> {
    let workers = Workers::new(threads.get(), observer);
    let checking = Checking { files, options, verdict, workers: &workers, counts: Counts::start() };
    workers.run_items(files.len(), &checking)?;
    Ok(checking.counts.report())
}

struct Checking<'c> {
    files: &'c [PathBuf],
    options: &'c CheckOptions,
    verdict: &'c (dyn Fn(Checked) + Sync),
    workers: &'c Workers<'c>,
    counts: Counts,
}

/// A publication whose entries are being read.
struct OpenPublication {
    archive: Archive,
    /// For each entry the protected resource that it is.
    resources: Vec<Option<ProtectedResource>>,
    key: Option<Aes>,
    checked: Mutex<Checked>,
    /// The next entry to read, and how many have not been read to their ends.
    next: AtomicUsize,
    left: AtomicUsize,
}

impl Items for Checking<'_> {
    type Item = OpenPublication;
    type Worker = Opener;

    fn start_worker(&self) -> Opener {
        Opener::default()
    }

    fn open_item(&self, index: usize, _: &mut Opener) -> Option<OpenPublication> {
        let mut checked = Checked { path: self.files[index].clone(), ..Checked::default() };
        match self.read_structure(&mut checked) {
            Ok(Some((archive, resources, key))) => {
                let (checked, left) = (Mutex::new(checked), AtomicUsize::new(archive.entries().len()));
                Some(OpenPublication { archive, resources, key, checked, next: AtomicUsize::new(0), left })
            }
            result => {
                checked.problems.extend(result.err());
                self.report(checked);
                None
            }
        }
    }

    fn untaken_parts(&self, item: &OpenPublication) -> usize {
        item.resources.len().saturating_sub(item.next.load(Ordering::Relaxed))
    }

    fn work_on(&self, item: &OpenPublication, _helpers: usize, opener: &mut Opener) {
        while !self.workers.is_stopped() {
            let index = item.next.fetch_add(1, Ordering::Relaxed);
            if index >= item.resources.len() {
                return;
            }
            self.check_entry(item, index, opener);
            // Acquire and release: the last one sees what the others have noted.
            if item.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                let mut checked = std::mem::take(&mut *lock(&item.checked));
                checked.problems.extend(item.archive.source().check_unchanged().err());
                self.report(checked);
            }
        }
    }
}

type Structure = (Archive, Vec<Option<ProtectedResource>>, Option<Aes>);

impl Checking<'_> {
    fn report(&self, checked: Checked) {
        // A worker may have stopped within the last entry.
        if self.workers.is_stopped() {
            return;
        }
        match checked.is_sound() {
            true => self.counts.count_done(checked.bytes, 0),
            false => self.counts.count_failed(&checked.problems),
        }
        self.workers.entry_ended();
        (self.verdict)(checked);
    }

    /// Reads an entry to its end; opens it if it is a protected resource and there is a key.
    fn check_entry(&self, item: &OpenPublication, index: usize, opener: &mut Opener) {
        let entry = &item.archive.entries()[index];
        let go_on = &mut |bytes: &[u8]| {
            self.workers.advanced(bytes.len() as u64);
            stop_if_asked(self.workers)
        };
        let result = match (&item.resources[index], &item.key) {
            (Some(resource), Some(key)) => opener.open(&item.archive, resource, key, go_on).map(Some),
            (resource, _) => {
                let form = resource.as_ref().map_or(Ok(()), |resource| check_form(entry, resource));
                form.and_then(|()| item.archive.read_to(entry, go_on)).map(|()| None)
            }
        };
        match result {
            Ok(None) => {}
            Ok(Some(opened)) => {
                let mut checked = lock(&item.checked);
                checked.opened += 1;
                checked.bytes += opened.len;
            }
            Err(error) => lock(&item.checked).problems.push(error),
        }
    }

    /// Checks everything before the resources. `None` for a license by itself.
    fn read_structure(&self, checked: &mut Checked) -> Result<Option<Structure>, Error> {
        let source = Source::open(&checked.path)?;
        if let Some(text) = license_alone(&source)? {
            checked.subject = Subject::License;
            let license = License::parse(&text)?;
            self.check_license(&license, checked);
            return Ok(None);
        }
        let archive = Archive::read(source)?;
        let protection = Protection::read(&archive)?;
        checked.subject = Subject::Publication(protection.kind);
        checked.resources = protection.resources.len();
        if protection.resources.is_empty() {
            checked.problems.push(Error::NotProtected);
        }
        let key = match embedded_license(&archive, protection.kind) {
            Ok(None) => match &self.options.license {
                None => {
                    checked.unchecked.push(Unchecked::Resources);
                    None
                }
                Some(license) => {
                    let key = self.check_license(license, checked);
                    checked.problems.extend(check_link(license, &archive).err());
                    key
                }
            },
            Ok(Some(license)) => self.check_license(&license, checked),
            Err(error) => {
                checked.problems.push(error);
                None
            }
        };
        let resources = protection.by_entry(&archive);
        let key = key.and_then(|key| Aes::new(key.bytes(), Backend::best()).ok());
        Ok(Some((archive, resources, key)))
    }

    /// Notes what is wrong with a license; the content key, if it can be had.
    fn check_license(&self, license: &License, checked: &mut Checked) -> Option<ContentKey> {
        let document = license.document();
        let problems = &mut checked.problems;
        let mut note = |result: Result<(), LicenseFault>| problems.extend(result.err().map(Error::from));
        note(license.check_completeness());
        let signed_by = match (license.check_signature(), &self.options.roots) {
            (Err(fault), _) => {
                note(Err(fault));
                None
            }
            (Ok(certificate), roots) => {
                match roots {
                    Some(roots) => note(roots.confirm(&certificate, document.last_changed())),
                    None => checked.unchecked.push(Unchecked::Certificate),
                }
                Some(certificate.subject)
            }
        };
        note(license.check_rights(self.options.moment.unwrap_or_else(Moment::now)));
        let key = match &self.options.user_key {
            None => {
                checked.unchecked.push(Unchecked::Opening);
                None
            }
            Some(user_key) => {
                let key = user_key
                    .content_key(document)
                    .and_then(|key| user_key.user_fields(document).map(|_| key));
                key.map_err(|fault| note(Err(fault))).ok()
            }
        };
        checked.license = Some(LicenseSummary {
            id: document.id.clone(),
            provider: document.provider.clone(),
            profile: document.encryption.profile.clone(),
            signed_by,
        });
        key
    }
}

/// The text of a file that is a license and not an archive; `None` if it is something else.
pub(crate) fn license_alone(source: &Source) -> Result<Option<Vec<u8>>, Error> {
    let mut first = [0; 64];
    let count = first.len().min(usize::try_from(source.len()).unwrap_or(first.len()));
    source.read_exact(&mut first[..count], 0)?;
    let first_letter = first[..count].iter().find(|byte| !byte.is_ascii_whitespace());
    if first_letter != Some(&b'{') {
        return Ok(None);
    }
    let length = usize::try_from(source.len()).unwrap_or(usize::MAX);
    if length > LARGEST_LICENSE {
        return Err(LicenseFault::TooLarge { length, most: LARGEST_LICENSE }.into());
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text, 0)?;
    Ok(Some(text))
}

/// The license inside a publication, if there is one.
pub(crate) fn embedded_license(archive: &Archive, kind: Kind) -> Result<Option<License>, Error> {
    let Some(index) = archive.find(kind.license_entry()) else { return Ok(None) };
    let text = archive.read_whole(&archive.entries()[index], LARGEST_LICENSE as u64)?;
    Ok(Some(License::parse(&text)?))
}

/// Whether a license that came by itself is the publication's, as far as its link says.
fn check_link(license: &License, archive: &Archive) -> Result<(), Error> {
    let link = license.document().link("publication");
    match link.and_then(|link| link.length) {
        Some(length) if length != archive.source().len() => {
            Err(Error::OtherPublication { length, found: archive.source().len() })
        }
        _ => Ok(()),
    }
}

/// An error if `observer` stops the run.
pub(crate) fn stop_if_asked(observer: &dyn Observer) -> Result<(), Error> {
    match observer.is_stopped() {
        true => Err(cipherloom::Error::Stopped.into()),
        false => Ok(()),
    }
}
