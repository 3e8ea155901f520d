//! Outputs that need no new encryption: those of renamed files get their new names, and those of files with other permissions
//! get these.

use super::comparison::Kept;
use super::twins::{ignores_case, lower_case};
use super::{Sync, output_path};
use crate::Error;
use crate::files::open_file_below;
use crate::files::{Ending, Opened, Target};
use crate::index::{IndexEntry, IndexFile, IndexKind, path_of, split};
use crate::pipeline::indexing::Edits;
use crate::report::Action;
use std::io;
use std::path::{Path, PathBuf};

impl Sync<'_> {
    /// Renames the outputs of renamed files. What fails is reported, and stays in the index as it is.
    pub(super) fn rename_all(&self, renames: Vec<Kept>, edits: &mut Edits) {
        let mut opened = Vec::new();
        for kept in renames {
            let path = output_path(self.tree, self.job, kept.entry);
            let renamed = self.rename(&kept, &path, &mut opened).and_then(|()| match self.has_mode(&kept) {
                true => Ok(()),
                false => self.set_mode(&path, kept.entry),
            });
            match renamed {
                Ok(()) => {
                    self.done(Action::Renamed, Some(kept.entry), &path);
                    edits.dropped.insert(kept.path.clone());
                    edits.entries.push(self.relist(kept, path));
                }
                Err(error) => self.fail(&path, &error),
            }
        }
        for (folder, opened) in opened {
            // It may be gone, or get its permissions at the round's end.
            let _ =
                Target::root(self.root).and_then(|root| root.finish(&folder, Ending::Closed(opened), false));
        }
    }

    fn rename(&self, kept: &Kept, to: &[u8], opened: &mut Vec<(PathBuf, Opened)>) -> Result<(), Error> {
        let root = Target::root(self.root)?;
        let ((folder, name), (new_folder, new_name)) = (split(&kept.path), split(to));
        let (folder, name, new_name) = (path_of(folder)?, path_of(name)?, path_of(new_name)?);
        // A run that was killed may have done it.
        let is_renamed = self.is_listed_stream(to, &kept.listed);
        if is_renamed && !self.is_listed_stream(&kept.path, &kept.listed) {
            return Ok(());
        }
        if is_renamed && lower_case(&kept.path) == lower_case(to) && ignores_case(self.root) {
            // Both are one name there, which the file bears already.
            return Ok(());
        }
        let (from, to) = (root.below(&folder)?, root.below(&path_of(new_folder)?)?);
        let found = from.identity(name.as_os_str()).filter(|found| found.is_only_name);
        if is_renamed && found.is_some() && found == to.identity(new_name.as_os_str()) {
            // As well, where the disk takes Unicode's forms for one.
            return Ok(());
        }
        let rename = || match is_renamed {
            true => from.remove_file(name.as_os_str()),
            false => from.rename(name.as_os_str(), &to, new_name.as_os_str()),
        };
        match rename() {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                opened.extend(root.open_up(&folder)?.map(|before| (folder.clone(), before)));
                rename()
            }
            renamed => renamed,
        }
    }

    /// Gives outputs the permissions of their sources. What fails is reported, and stays in the index as it is.
    pub(super) fn set_modes(&self, modes: Vec<Kept>, edits: &mut Edits) {
        for kept in modes {
            let set = match self.store() {
                None => self.set_mode(&kept.path, kept.entry),
                // The index alone has them.
                Some(_) => Ok(()),
            };
            match set {
                Ok(()) => {
                    self.done(Action::Mode, Some(kept.entry), &kept.path);
                    let path = kept.path.clone();
                    edits.entries.push(self.relist(kept, path));
                }
                Err(error) => self.fail(&kept.path, &error),
            }
        }
    }

    fn has_mode(&self, kept: &Kept) -> bool {
        self.tree.entries.get(kept.entry).attributes().mode() == kept.listed.mode
    }

    /// Gives an output the permissions that it would get if it were made now.
    fn set_mode(&self, path: &[u8], entry: u32) -> Result<(), Error> {
        let wanted = self.tree.entries.get(entry).attributes().permissions;
        let refused = |error| Error::io("set the output's permissions and time", error);
        let path = path_of(path)?;
        let file = open_file_below(self.root, &path)?;
        let granted = if self.job.preserve_modes {
            wanted
        } else {
            // Only a new file tells what the process's umask takes.
            let folder = Target::root(self.root)?.below(path.parent().unwrap_or(Path::new("")))?;
            folder.output(Some(&wanted))?.file().metadata().map_err(refused)?.permissions()
        };
        file.set_permissions(granted).map_err(refused)
    }

    /// A file's entry of the index at this path, with the attributes of its source.
    pub(super) fn relist(&self, kept: Kept, path: Vec<u8>) -> IndexEntry {
        let attributes = self.tree.entries.get(kept.entry).attributes();
        let file = IndexFile {
            plaintext: self.job.plaintext_path(&path).to_vec(),
            mode: attributes.mode(),
            inode: attributes.inode,
            ..kept.listed
        };
        IndexEntry { path, kind: IndexKind::File(file) }
    }
}
