//! The last step of an output: its attributes, then its final name.

use super::job::Job;
use crate::Error;
use crate::files::{Granted, Output, Target, is_refused_by_kind};
use crate::tree::Attributes;
use std::ffi::OsStr;
use std::io;

/// How an output gets its name.
#[derive(Clone, Copy)]
pub(super) struct Naming<'n> {
    pub(super) name: &'n OsStr,
    /// Asked before anything is replaced.
    pub(super) may_replace: &'n dyn Fn() -> Result<(), Error>,
}

impl Output {
    /// Gives the output its attributes and its final name; false if the file system did not take the attributes. `granted`
    /// remembers which permissions new files get by themselves, so that the usual case costs no system call.
    pub(super) fn commit(
        self,
        folder: &Target,
        naming: Naming<'_>,
        attributes: &Attributes,
        granted: &mut Granted,
        job: &Job,
    ) -> Result<bool, Error> {
        // Before the time is set: what is written late may change it.
        if folder.may_fail_at_close() {
            self.accept_writes()?;
        }
        let file = self.file();
        let taken = |done: io::Result<()>| match done {
            Ok(()) => Ok(true),
            Err(error) if is_refused_by_kind(&error) => Ok(false),
            Err(error) => Err(Error::io("set the output's permissions and time", error)),
        };
        let mut all_taken = true;
        if job.preserve_modes {
            let wanted = &attributes.permissions;
            let set = |matches| if matches { Ok(()) } else { file.set_permissions(wanted.clone()) };
            all_taken &= taken(granted.matches(file, wanted).and_then(set))?;
        }
        if let Some(modified) = attributes.modified {
            all_taken &= taken(file.set_modified(modified))?;
        }
        if job.durable {
            self.sync()?;
        }
        folder.name(self, naming.name, job.existing(), naming.may_replace)?;
        Ok(all_taken)
    }
}
