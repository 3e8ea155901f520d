//! A share of a run over several machines, whose outputs are listed in a journal: each shows of which version of an object it was
//! made, and is recognised by that when the share is repeated. What an object's metadata says is only a hint.

use crate::existing;
use crate::indexing::read_ends;
use crate::inventory::{Inventory, Object};
use crate::place::{Kind, Place};
use crate::run::Context;
use crate::runtime::blocking;
use cipherloom::{
    Error,
    internal::{Seen, Tree, version_mark},
};
use std::path::PathBuf;

impl Context {
    /// Whether what this run makes is listed in a journal.
    pub(crate) fn is_journaled(&self) -> bool {
        self.job.index.as_ref().is_some_and(|index| index.journal.is_some())
    }

    /// The version of a source as its output's mark has it, where a journal is written.
    pub(crate) fn version_of(&self, object: &Object) -> Option<[u8; 32]> {
        let version = object.e_tag.as_ref().filter(|_| self.is_journaled())?;
        Some(version_mark(object.path.as_bytes(), object.size, version.as_bytes()))
    }

    /// The stream of an output that a run has made of this version of the source.
    pub(crate) async fn recognise(
        &self,
        outputs: &Inventory,
        output: &Object,
        bound: &[u8],
        source: &Object,
    ) -> Result<Seen, Error> {
        let reason = "nothing shows that it was made of this version of the source";
        let other = || Error::OutputConflict { reason: reason.to_owned() };
        let (Some(format), Some(mark)) = (self.job.work.sealing().cloned(), self.version_of(source)) else {
            return Err(other());
        };
        let wanted = u64::from(format.largest_segment());
        let _share = self.share(2 * wanted.min(output.size)).await?;
        let (begin, ends) = read_ends(outputs, output, wanted).await?;
        let (bound, size) = (bound.to_owned(), source.size);
        let open = move |_: &mut _| {
            let begin = &begin[..begin.len().min(usize::try_from(wanted).unwrap_or(usize::MAX))];
            Seen::marked(&format, &mark, &bound, begin, &ends, size)
        };
        self.ciphers.run(open).await?.ok_or_else(other)
    }
}

/// The object, or file, that has an output's path.
pub(crate) async fn find_stored(place: &Place, path: String) -> Result<(Object, Inventory), Error> {
    match &place.0 {
        Kind::Bucket { bucket, .. } => {
            let found = existing::look(bucket, &bucket.key(&path)?).await?;
            let stored = found.ok_or(Error::SourceChanged)?.stored;
            let output = Object::new(path, stored.size, stored.e_tag);
            Ok((output, Inventory::of_objects(place.clone(), Vec::new())))
        }
        Kind::Folder(root) => {
            let (root, name) = (root.clone(), PathBuf::from(&path));
            let tree = blocking(move || Tree::named(&root, &[name], &|| false)).await?;
            let outputs = Inventory::of_tree(tree);
            let output = outputs.objects().first().cloned();
            Ok((output.ok_or(Error::SourceChanged)?, outputs))
        }
    }
}
