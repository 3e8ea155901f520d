//! Which files of a tree take part: `--include` and `--exclude` globs over relative paths, and `--shard`.

use super::Shard;
use crate::Error;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;

/// Globs that choose files by their path relative to the root (`/` between folders).
///
/// A glob without `/` is matched against the file name alone, as users expect of `*.epub`; one with `/` against the
/// whole relative path, where `*` stays within a folder and `**` crosses folders. A file takes part if it matches an
/// include (or there are none) and no exclude; an excluded folder is not entered.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    include: Option<Globs>,
    exclude: Option<Globs>,
    shard: Option<Shard>,
}

#[derive(Debug, Clone)]
struct Globs {
    names: GlobSet,
    paths: GlobSet,
}

impl Selection {
    /// Compiles the globs.
    ///
    /// # Errors
    /// If a glob is malformed; the message quotes it.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Selection, Error> {
        Ok(Selection { include: Globs::compile(include)?, exclude: Globs::compile(exclude)?, shard: None })
    }

    /// Of what the globs take, this share only.
    #[must_use]
    pub fn in_shard(self, shard: Option<Shard>) -> Selection {
        Selection { shard, ..self }
    }

    /// Whether the file at this path takes part, and no folder above it is left out.
    #[must_use]
    pub fn takes(&self, relative: &Path) -> bool {
        self.takes_everything() || (self.takes_file(relative) && !self.leaves_out_above(relative))
    }

    /// Whether a folder above what has this path is left out.
    #[must_use]
    pub fn leaves_out_above(&self, relative: &Path) -> bool {
        relative.ancestors().skip(1).any(|folder| self.leaves_out(folder))
    }

    pub(super) fn takes_file(&self, relative: &Path) -> bool {
        self.include.as_ref().is_none_or(|globs| globs.matches(relative))
            && !self.leaves_out(relative)
            && self.shard.is_none_or(|shard| shard.takes(relative))
    }

    /// Whether what has this path is excluded by a glob: a file, or a folder with all that is below it.
    #[must_use]
    pub fn leaves_out(&self, relative: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|globs| globs.matches(relative))
    }

    /// Without globs no path need be built for a file.
    pub(crate) fn takes_everything(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && self.shard.is_none()
    }
}

impl Globs {
    fn compile(patterns: &[String]) -> Result<Option<Globs>, Error> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern.trim_start_matches('/').trim_end_matches('/'))
                .literal_separator(true)
                .build()
                .map_err(|error| Error::Glob {
                    pattern: pattern.clone(),
                    reason: error.kind().to_string(),
                })?;
            let _ = if pattern.contains('/') { paths.add(glob) } else { names.add(glob) };
        }
        let compiled = |builder: GlobSetBuilder| {
            builder.build().map_err(|error| Error::Glob {
                pattern: error.glob().unwrap_or("(all globs together)").to_owned(),
                reason: error.kind().to_string(),
            })
        };
        Ok(Some(Globs { names: compiled(names)?, paths: compiled(paths)? }))
    }

    fn matches(&self, relative: &Path) -> bool {
        relative.file_name().is_some_and(|name| self.names.is_match(name)) || self.paths.is_match(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(include: &[&str], exclude: &[&str]) -> Selection {
        let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
        Selection::new(&owned(include), &owned(exclude)).unwrap()
    }

    #[test]
    fn names_and_paths() {
        let epubs = selection(&["*.epub"], &["drafts/**"]);
        assert!(epubs.takes_file(Path::new("a/b/book.epub")));
        assert!(!epubs.takes_file(Path::new("a/b/book.pdf")));
        assert!(!epubs.takes_file(Path::new("drafts/book.epub")));
        assert!(selection(&["a/*.txt"], &[]).takes_file(Path::new("a/x.txt")));
        assert!(!selection(&["a/*.txt"], &[]).takes_file(Path::new("a/b/x.txt")));
        assert!(selection(&[], &["target"]).leaves_out(Path::new("deep/target")));
    }

    #[test]
    fn what_lies_in_an_excluded_folder_takes_no_part() {
        let without = selection(&[], &["target"]);
        assert!(!without.takes(Path::new("deep/target/file")) && without.takes(Path::new("deep/file")));
        let shares = ["1/2", "2/2"].map(|shard| selection(&[], &[]).in_shard(Some(shard.parse().unwrap())));
        assert_eq!(shares.iter().filter(|share| share.takes(Path::new("deep/file"))).count(), 1);
    }

    #[test]
    fn malformed_glob_is_quoted() {
        let error = Selection::new(&["a[".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().contains("a["), "{error}");
    }
}
