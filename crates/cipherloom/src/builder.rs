//! Jobs as a user of the library writes them: one call that names source and destination, options, and [`JobBuilder::run`].

mod index;

use crate::Error;
use crate::age::{Identity, Recipient};
use crate::files::IfExists;
use crate::format::Format;
use crate::key::Keyset;
use crate::location::{Location, place_outputs};
use crate::machine::{Calibration, Machine};
use crate::pipeline::{self, Job, Links, Work};
use crate::plan::{Operation, Plan};
use crate::report::{Observer, Report, Unobserved};
use crate::tree::Tree;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Encrypts a file or a folder. Each file is encrypted by itself, and its output gets its name only when it is complete.
///
/// Like `cp`: a file goes to the file that is named, or into the folder if one is there; a folder's files go below the
/// destination, in folders of the same names.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::create_dir("books").unwrap();
/// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
/// use cipherloom::key::{Keyset, Template};
///
/// let keyset = Keyset::generate(Template::default())?;
/// let report = cipherloom::encrypt("books", "sealed").key(&keyset).suffix(".tink").run()?;
/// assert_eq!((report.files, report.failed), (1, 0));
///
/// let report = cipherloom::decrypt("sealed", "opened").key(&keyset).suffix(".tink").run()?;
/// assert_eq!(report.files, 1);
/// assert_eq!(std::fs::read("opened/one.txt").unwrap(), b"It was a bright cold day in April.");
/// # Ok::<(), cipherloom::Error>(())
/// ```
pub fn encrypt(source: impl Into<PathBuf>, destination: impl Into<PathBuf>) -> JobBuilder {
    JobBuilder::new(Operation::Encrypt, source.into(), Some(destination.into()))
}

/// Decrypts what [`encrypt`] made. A file that is not authentic to its last byte gets no output. For an example see
/// [`encrypt`].
pub fn decrypt(source: impl Into<PathBuf>, destination: impl Into<PathBuf>) -> JobBuilder {
    JobBuilder::new(Operation::Decrypt, source.into(), Some(destination.into()))
}

/// Authenticates every byte of an encrypted file or folder, and writes nothing.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::write("letter", "Dear Winston").unwrap();
/// # use cipherloom::key::{Keyset, Template};
/// # let keyset = Keyset::generate(Template::default())?;
/// cipherloom::encrypt("letter", "letter.tink").key(&keyset).run()?;
/// let report = cipherloom::verify("letter.tink").key(&keyset).run()?;
/// assert_eq!((report.files, report.unauthentic), (1, 0));
/// # Ok::<(), cipherloom::Error>(())
/// ```
pub fn verify(source: impl Into<PathBuf>) -> JobBuilder {
    JobBuilder::new(Operation::Verify, source.into(), None)
}

/// Decrypts with one key and encrypts with another in one pass; the plaintext stays in memory. Where source and destination
/// are the same folder and [`IfExists::Overwrite`] is set, each file is replaced where it is, and a run that was stopped goes
/// on when it is repeated. Where the source has an index, only what that lists is re-keyed, and the destination has one too.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::write("letter", "Dear Winston").unwrap();
/// # use cipherloom::key::{Keyset, Template};
/// # let (old, new) = (Keyset::generate(Template::default())?, Keyset::generate(Template::default())?);
/// cipherloom::encrypt("letter", "letter.tink").key(&old).run()?;
/// let report = cipherloom::rekey("letter.tink", "fresh.tink").key(&old).new_key(&new).run()?;
/// assert_eq!(report.files, 1);
/// assert_eq!(cipherloom::verify("fresh.tink").key(&new).run()?.failed, 0);
/// # Ok::<(), cipherloom::Error>(())
/// ```
pub fn rekey(source: impl Into<PathBuf>, destination: impl Into<PathBuf>) -> JobBuilder {
    JobBuilder::new(Operation::Rekey, source.into(), Some(destination.into()))
}

/// What to do with a file or folder, where its outputs go, and how. Made by [`encrypt`], [`decrypt`], [`verify`] and
/// [`rekey`]; [`JobBuilder::run`] does it. It borrows nothing and can be run any number of times.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::create_dir("books").unwrap();
/// # std::fs::write("books/one.epub", "It was a bright cold day in April.").unwrap();
/// use cipherloom::key::{Keyset, RawKey, Template};
/// use cipherloom::machine::{Calibration, Machine};
/// use cipherloom::{Format, IfExists, Links};
/// use std::num::NonZeroUsize;
///
/// let keyset = Keyset::generate(Template::default())?;
/// let machine = Machine::detect(Calibration::default());
/// let job = cipherloom::encrypt("books", "sealed")
///     .key(&keyset)
///     .include("*.epub")
///     .exclude("drafts")
///     .suffix(".tink")
///     .bind_path(true)
///     .if_exists(IfExists::Skip)
///     .links(Links::Copy)
///     .durable(true)
///     .preserve_modes(true)
///     .non_atomic(false)
///     .allow_mixed_keys(false)
///     .threads(NonZeroUsize::MIN)
///     .machine(machine);
/// assert_eq!(job.plan()?.threads(), 1);
/// assert_eq!(job.run()?.files, 1);
/// assert_eq!(job.run()?.skipped, 1, "it can be run again");
///
/// let format = Format::cobblestone(&RawKey::from_bytes(&[7; 32])?, b"books")?;
/// let again = cipherloom::rekey("sealed", "other").key(&keyset).new_format(format.clone());
/// assert_eq!(again.bind_path(true).suffix(".tink").run()?.files, 1);
/// assert_eq!(cipherloom::verify("other").format(format).bind_path(true).suffix(".tink").run()?.failed, 0);
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a job does nothing before it is run"]
pub struct JobBuilder {
    operation: Operation,
    source: PathBuf,
    key: Option<Key>,
    new_key: Option<Key>,
    include: Vec<String>,
    exclude: Vec<String>,
    threads: Option<NonZeroUsize>,
    machine: Option<Machine>,
    indexing: index::Indexing,
    /// All other settings; its work and the output's name are set when the job is run.
    job: Job,
}

#[derive(Debug, Clone)]
enum Key {
    /// Made a format for the machine that runs the job.
    Keyset(Keyset),
    Format(Format),
    Recipients(Vec<Recipient>),
    Identities(Vec<Identity>),
}

impl Key {
    fn format(&self, machine: &Machine) -> Result<Format, Error> {
        match self {
            Key::Keyset(keyset) => Format::tink(keyset, machine.backend),
            Key::Format(format) => Ok(format.clone()),
            Key::Recipients(recipients) => Format::age_for(recipients.iter().cloned()),
            Key::Identities(identities) => Format::age_from(identities.iter().cloned()),
        }
    }
}

impl JobBuilder {
    fn new(operation: Operation, source: PathBuf, destination: Option<PathBuf>) -> JobBuilder {
        JobBuilder {
            operation,
            source,
            key: None,
            new_key: None,
            include: Vec::new(),
            exclude: Vec::new(),
            threads: None,
            machine: None,
            indexing: index::Indexing::default(),
            job: Job::new(Work::Copy, destination),
        }
    }

    /// The keyset, for files in Tink's format. When re-keying: the one that the source is encrypted with.
    pub fn key(self, keyset: &Keyset) -> JobBuilder {
        JobBuilder { key: Some(Key::Keyset(keyset.clone())), ..self }
    }

    /// The format with its key, instead of [`JobBuilder::key`]. A raw CTR format with a fixed IV encrypts every file with the
    /// same keystream, which reveals their plaintext: use it for a single file.
    pub fn format(self, format: Format) -> JobBuilder {
        JobBuilder { key: Some(Key::Format(format)), ..self }
    }

    /// The keyset to encrypt with when re-keying.
    pub fn new_key(self, keyset: &Keyset) -> JobBuilder {
        JobBuilder { new_key: Some(Key::Keyset(keyset.clone())), ..self }
    }

    /// The format with its key to encrypt with when re-keying, instead of [`JobBuilder::new_key`].
    pub fn new_format(self, format: Format) -> JobBuilder {
        JobBuilder { new_key: Some(Key::Format(format)), ..self }
    }

    /// Whom to encrypt for, in age's format: instead of [`JobBuilder::key`] when encrypting, of [`JobBuilder::new_key`] when
    /// re-keying.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::write("letter", "Dear Winston").unwrap();
    /// use cipherloom::age::Identity;
    ///
    /// let identity = Identity::generate()?;
    /// cipherloom::encrypt("letter", "letter.age").recipients([identity.recipient()]).run()?;
    /// let report = cipherloom::verify("letter.age").identities([identity]).run()?;
    /// assert_eq!((report.files, report.failed), (1, 0));
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn recipients(self, recipients: impl IntoIterator<Item = Recipient>) -> JobBuilder {
        let key = Some(Key::Recipients(recipients.into_iter().collect()));
        match self.operation {
            Operation::Rekey => JobBuilder { new_key: key, ..self },
            _ => JobBuilder { key, ..self },
        }
    }

    /// What decrypts files in age's format, instead of [`JobBuilder::key`]. When encrypting: whose recipients to encrypt for.
    pub fn identities(self, identities: impl IntoIterator<Item = Identity>) -> JobBuilder {
        JobBuilder { key: Some(Key::Identities(identities.into_iter().collect())), ..self }
    }

    /// Adds a glob: only files that match one of these take part. One without `/` is matched against names, one with `/`
    /// against paths relative to the source.
    pub fn include(mut self, glob: impl Into<String>) -> JobBuilder {
        self.include.push(glob.into());
        self
    }

    /// Adds a glob: files that match one of these take no part, and folders that match are not entered.
    pub fn exclude(mut self, glob: impl Into<String>) -> JobBuilder {
        self.exclude.push(glob.into());
        self
    }

    /// Added to names when encrypting, removed when decrypting, such as ".enc". Default: names stay as they are.
    pub fn suffix(mut self, suffix: impl Into<OsString>) -> JobBuilder {
        self.job.suffix = suffix.into();
        self
    }

    /// What to do where an output's name is taken. Default: that file fails.
    pub fn if_exists(mut self, if_exists: IfExists) -> JobBuilder {
        self.job.if_exists = if_exists;
        self
    }

    /// What to do with symbolic links. Default: they are skipped.
    pub fn links(mut self, links: Links) -> JobBuilder {
        self.job.links = links;
        self
    }

    /// Whether each file's path relative to the source is authenticated with its content, so that files cannot be swapped or
    /// renamed unnoticed. Default: no.
    pub fn bind_path(mut self, bind_path: bool) -> JobBuilder {
        self.job.bind_path = bind_path;
        self
    }

    /// Whether each output is forced to stable storage before it gets its name. Default: no.
    pub fn durable(mut self, durable: bool) -> JobBuilder {
        self.job.durable = durable;
        self
    }

    /// Whether outputs get exactly their source's permissions. Default: the process's umask applies.
    pub fn preserve_modes(mut self, preserve_modes: bool) -> JobBuilder {
        self.job.preserve_modes = preserve_modes;
        self
    }

    /// Whether a file system may be used that can rename only by replacing: a file that another program creates at the same
    /// moment under an output's name could be lost. Default: such a run fails at its start.
    pub fn non_atomic(mut self, non_atomic: bool) -> JobBuilder {
        self.job.non_atomic = non_atomic;
        self
    }

    /// Whether outputs may go to a folder that holds files under another key. Default: no, since nothing says later which key
    /// opens which file.
    pub fn allow_mixed_keys(mut self, allow_mixed_keys: bool) -> JobBuilder {
        self.job.allow_mixed_keys = allow_mixed_keys;
        self
    }

    /// How many threads work. Default: the plan chooses.
    pub fn threads(self, threads: NonZeroUsize) -> JobBuilder {
        JobBuilder { threads: Some(threads), ..self }
    }

    /// The machine to plan for, with its AES backend and its measured costs. Default: this machine with built-in costs.
    pub fn machine(self, machine: Machine) -> JobBuilder {
        JobBuilder { machine: Some(machine), ..self }
    }

    /// Runs the job, and returns when every file has ended, well or not.
    ///
    /// # Errors
    /// If nothing can be started at all: no key is given, a glob is malformed, the source cannot be listed, the destination
    /// cannot be made or holds files under another key, or one of them lies in the other. A file that fails is counted in
    /// [`Report::failed`] and does not stop the others; [`JobBuilder::run_with`] tells which one and why.
    pub fn run(&self) -> Result<Report, Error> {
        self.run_with(&Unobserved)
    }

    /// Runs the job as [`JobBuilder::run`] does; `observer` receives the progress and each failure, and can stop
    /// the run.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::write("letter", "Dear Winston").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    /// use cipherloom::report::{Event, Observer, Outcome};
    ///
    /// struct PrintFailures;
    ///
    /// impl Observer for PrintFailures {
    ///     fn ended(&self, event: &Event<'_>) {
    ///         if let Outcome::Failed(error) = &event.outcome {
    ///             eprintln!("{}: {error}", event.source.display());
    ///         }
    ///     }
    /// }
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// let report = cipherloom::verify("letter").key(&keyset).run_with(&PrintFailures)?;
    /// assert_eq!(report.unauthentic, 1, "it is not encrypted");
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`JobBuilder::run`].
    pub fn run_with(&self, observer: &dyn Observer) -> Result<Report, Error> {
        let machine = self.resolve_machine();
        let (tree, job) = self.prepare(&machine, observer)?;
        pipeline::check(&tree, &job)?;
        if job.sync_options().is_some() {
            return pipeline::sync(&tree, &job, &machine, self.threads, observer);
        }
        let plan = job.plan(&tree, &machine, self.threads);
        pipeline::run(&tree, &plan, &job, observer)
    }

    /// Lists the source and plans the job without running it: how many threads, which files are divided, how long it should
    /// take, and why.
    ///
    /// # Errors
    /// As [`JobBuilder::run`], but for the destination, which is not touched.
    pub fn plan(&self) -> Result<Plan, Error> {
        let machine = self.resolve_machine();
        let (tree, job) = self.prepare(&machine, &Unobserved)?;
        Ok(job.plan(&tree, &machine, self.threads))
    }

    fn resolve_machine(&self) -> Machine {
        self.machine.clone().unwrap_or_else(|| Machine::detect(Calibration::default()))
    }

    /// Lists the source, and completes the job.
    fn prepare(&self, machine: &Machine, observer: &dyn Observer) -> Result<(Tree, Job), Error> {
        let work = self.work(machine)?;
        work.check_rekey()?;
        let (tree, index, suffix) = self.list_source(&work, observer)?;
        let mut job = Job { work, index, ..self.job.clone() };
        if let Some(suffix) = suffix.filter(|_| job.suffix.is_empty()) {
            job.suffix = suffix;
        }
        if let Some(destination) = self.job.destination.as_deref() {
            let place = place_outputs((&tree).into(), &Location::Path(destination.to_owned()), &job)?;
            job.destination = Some(place.folder.to_path());
            job.single_name = place.name;
        }
        Ok((tree, job))
    }

    fn work(&self, machine: &Machine) -> Result<Work, Error> {
        let format = |key: &Option<Key>| key.as_ref().ok_or(Error::NoKey)?.format(machine);
        Ok(match self.operation {
            Operation::Encrypt => Work::Encrypt(format(&self.key)?),
            Operation::Decrypt => Work::Decrypt(format(&self.key)?),
            Operation::Verify => Work::Verify(format(&self.key)?),
            Operation::Rekey => Work::Rekey { from: format(&self.key)?, to: format(&self.new_key)? },
            Operation::Copy => Work::Copy,
        })
    }
}
