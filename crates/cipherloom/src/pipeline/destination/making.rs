//! Makes the output folders before anything is put into them.

use super::branches::Branches;
use super::ending::close_again;
use super::{MadeRoot, Origin, OutputTree, fail, refuse_contradictions};
use crate::Error;
use crate::engine::{Workers, lock};
use crate::files::{Ending, Identity, IfExists, MadeFolder, Target};
use crate::pipeline::in_place::is_in_place;
use crate::pipeline::job::Job;
use crate::pipeline::tally::Tally;
use crate::report::Observer;
use crate::tree::{Directory, Tree};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Makes the output folders, which are those of `tree`, on up to `threads` threads; `None` where nothing is written.
pub(in crate::pipeline) fn prepare(
    source: &Tree,
    tree: &Tree,
    job: &Job,
    threads: usize,
    tally: &Tally<'_, u32>,
) -> Result<Option<OutputTree>, Error> {
    MadeRoot::of(tree, job)?.map(|made| prepare_below(&made, source, tree, job, threads, tally)).transpose()
}

/// Makes the output folders below the destination.
pub(in crate::pipeline) fn prepare_below(
    MadeRoot { made, first_existing }: &MadeRoot,
    source: &Tree,
    tree: &Tree,
    job: &Job,
    threads: usize,
    tally: &Tally<'_, u32>,
) -> Result<OutputTree, Error> {
    let destination =
        job.destination.as_deref().ok_or_else(|| Error::internal("a job without a destination"))?;
    // Once more, now that no part of its path is missing: `..` behind a folder that was not there yet leads elsewhere.
    refuse_contradictions(source, job)?;
    let root = Target::root(destination)?;
    // The folder around a single output is nobody's twin.
    let first =
        if tree.is_single_file { Origin::Found(None) } else { origin(&root, Path::new(""), *made, job)? };
    if !tree.entries.is_empty() || job.hides_names() {
        match root.check_naming(job.existing()) {
            // Who may not write here may be allowed to further down.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => {
                if let Origin::Found(Some(opened)) = first {
                    let _ = root.finish(Path::new(""), Ending::Closed(opened), false);
                }
                return Err(error);
            }
            Ok(()) => {}
        }
    }
    let branches = Branches::of(&tree.directories, threads);
    let mut made = Made { folders: vec![Origin::Refused; tree.directories.len()], ..Made::default() };
    made.folders[0] = first;
    let (known, made) = (Mutex::default(), Mutex::new(made));
    let making = Making { tree, job, destination, tally, known, made };
    let threads = branches.threads_below();
    let start = || root.with_waypoints(threads);
    let refused = Mutex::default();
    // As the others, this fails the run if it panics.
    let ended = Workers::new(1, tally).run_each(1, start, |_, root| {
        let first_ones = branches.top().iter().copied().chain(branches.heads());
        *lock(&refused) = making.make(root, first_ones, &BTreeMap::new());
    });
    let refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ended = ended.and_then(|()| {
        branches.work_on_each(threads, tally, start, |branch, root| {
            making.make(root, branch[1..].iter().copied(), &refused);
        })
    });
    let Made { folders, mut shared } = making.made.into_inner().unwrap_or_else(PoisonError::into_inner);
    if job.hides_outputs() {
        // Files are not in the folders of their source.
        shared.clear();
    }
    let first_existing = first_existing.clone();
    let outputs =
        OutputTree { root, first_existing, in_place: is_in_place(tree, job), folders, branches, shared };
    if let Err(error) = ended {
        close_again(tree, &outputs);
        return Err(error);
    }
    Ok(outputs)
}

/// All folders that were made.
#[derive(Default)]
struct Made {
    folders: Vec<Origin>,
    shared: BTreeMap<u32, String>,
}

/// Folders that are not to be gone through, with the name of the folder that each is not told from, if that is why.
type Refused<'t> = BTreeMap<&'t Path, Option<String>>;

/// What all threads share that make folders.
struct Making<'m> {
    tree: &'m Tree,
    job: &'m Job,
    destination: &'m Path,
    tally: &'m Tally<'m, u32>,
    /// Folders that were made or found, to notice when the file system takes another one for one of them.
    known: Mutex<HashMap<Identity, &'m OsStr>>,
    made: Mutex<Made>,
}

/// The folder that the last ones were made in. Folders side by side follow each other in the listing.
#[derive(Default)]
struct Parent<'m> {
    opened: Option<(&'m Path, Target)>,
    /// The folders in it by name in lower case: some file systems number folders by name.
    by_case: HashMap<String, &'m OsStr>,
}

impl<'m> Making<'m> {
    /// Makes these folders, of which parents precede their children, and returns those that were refused. `refused`: folders above
    /// them that were.
    fn make(&self, root: &Target, folders: impl Iterator<Item = u32>, refused: &Refused<'m>) -> Refused<'m> {
        let mut all = Refused::new();
        let mut shared = BTreeMap::new();
        // Those that nothing has to be taken back of.
        let mut others = Vec::new();
        let mut parent = Parent::default();
        for index in folders.take_while(|_| !self.tally.is_stopped()) {
            let directory = &self.tree.directories[index as usize];
            let path = directory.path.as_path();
            let above = path.parent().unwrap_or(Path::new(""));
            if let Some(other) = all.get(above).or_else(|| refused.get(above)).cloned() {
                shared.extend(other.clone().map(|other| (index, other)));
                all.insert(path, other);
                continue;
            }
            let made = self
                .make_folder(root, &mut parent, above, directory)
                .and_then(|made| origin(root, path, made, self.job));
            match made {
                // At once: if this thread panics, it is closed again.
                Ok(origin @ Origin::Found(Some(_))) => lock(&self.made).folders[index as usize] = origin,
                Ok(origin) => others.push((index, origin)),
                Err(error) => {
                    let other = match &error {
                        Error::NameCollision { other } => Some(other.clone()),
                        _ => None,
                    };
                    shared.extend(other.clone().map(|other| (index, other)));
                    all.insert(path, other);
                    fail(self.tree, self.destination, path, error, self.tally);
                }
            }
        }
        let mut made = lock(&self.made);
        others.into_iter().for_each(|(index, origin)| made.folders[index as usize] = origin);
        made.shared.append(&mut shared);
        all
    }

    /// Makes a folder in the one at `above`, which is kept in `parent` for the next one.
    fn make_folder(
        &self,
        root: &Target,
        parent: &mut Parent<'m>,
        above: &'m Path,
        twin: &'m Directory,
    ) -> Result<MadeFolder, Error> {
        let name = twin.path.file_name().expect("each folder below the root has a name");
        let folder = match parent.opened.take() {
            Some((path, folder)) if path.as_os_str() == above.as_os_str() => folder,
            last => {
                parent.by_case.clear();
                match last
                    .filter(|(path, _)| above.parent().is_some_and(|it| it.as_os_str() == path.as_os_str()))
                {
                    // It was just made in that one.
                    Some((_, folder)) => folder.below(Path::new(above.file_name().unwrap_or_default()))?,
                    None => root.below(above)?,
                }
            }
        };
        let (_, folder) = parent.opened.insert((above, folder));
        let made = folder.make_folder(name, Some(&twin.attributes.permissions))?;
        let is_made = made == MadeFolder::New;
        let other = folder.identity(name).and_then(|identity| lock(&self.known).insert(identity, name));
        let by_case = parent.by_case.insert(name.to_string_lossy().to_lowercase(), name);
        match other.or_else(|| by_case.filter(|_| !is_made && !folder.lists(name))) {
            Some(other) if !is_made => {
                let other = other.to_string_lossy().into_owned();
                Err(Error::NameCollision { other })
            }
            _ => Ok(made),
        }
    }
}

/// What a folder is to this run. One that was there may hold what a killed run left, and if this run is to go on with it, it
/// is made usable: its permissions are those of its twin, which may have been read-only, or unreadable at that time.
fn origin(root: &Target, path: &Path, made: MadeFolder, job: &Job) -> Result<Origin, Error> {
    if made == MadeFolder::New {
        return Ok(Origin::Made);
    }
    let goes_on = job.if_exists != IfExists::Fail;
    let opened = if goes_on { root.open_up(path)? } else { None };
    root.remove_leftovers(path);
    Ok(Origin::Found(opened))
}
