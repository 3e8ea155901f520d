//! What a publication says of itself, as far as key records and notifications tell it.

/// Title and the like; empty where the publication does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The first title.
    pub title: String,
    /// Names of the authors.
    pub authors: Vec<String>,
    /// Names of the publishers.
    pub publishers: Vec<String>,
    /// The description.
    pub description: String,
    /// The date of publication as it is written.
    pub date: String,
    /// Languages (BCP 47).
    pub languages: Vec<String>,
    /// Subjects.
    pub subjects: Vec<String>,
}

impl Metadata {
    /// The title that a file's name stands for: what separates its words becomes a space.
    pub(crate) fn titled_by(stem: &str) -> Metadata {
        let title = stem.replace(['_', '-', '.'], " ").trim().to_owned();
        Metadata { title: if title.is_empty() { "Untitled".into() } else { title }, ..Metadata::default() }
    }
}
