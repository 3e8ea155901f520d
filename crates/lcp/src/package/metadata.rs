//! What a publication says of itself, as far as key records and notifications need it; read from the Dublin Core elements
//! of its package documents.

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
}

/// The elements of package documents that are kept: local names and texts, in the order of the documents. Each step costs
/// as much as the text that it gets, whatever was collected before: documents come from strangers.
#[derive(Debug, Default)]
pub(super) struct DublinCore(Vec<(&'static str, String)>);

impl DublinCore {
    /// Begins an element of this local name; false if the element is not kept.
    pub(super) fn begin(&mut self, name: &str) -> bool {
        const KEPT: [&str; 4] = ["title", "creator", "publisher", "description"];
        let kept = KEPT.into_iter().find(|kept| *kept == name);
        self.0.extend(kept.map(|kept| (kept, String::new())));
        kept.is_some()
    }

    /// Adds text to the element that began last.
    pub(super) fn push(&mut self, text: &str) {
        if let Some((_, content)) = self.0.last_mut() {
            content.push_str(text);
        }
    }

    /// The metadata: each run of white space is one space, and empty elements do not count.
    pub(super) fn finish(self) -> Metadata {
        let tidy = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let all = |name| -> Vec<String> {
            let texts = self.0.iter().filter(|(kept, _)| *kept == name).map(|(_, text)| tidy(text));
            texts.filter(|text| !text.is_empty()).collect()
        };
        let first = |name| all(name).into_iter().next().unwrap_or_default();
        Metadata {
            title: first("title"),
            authors: all("creator"),
            publishers: all("publisher"),
            description: first("description"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_title_and_every_author_are_kept() {
        let mut elements = DublinCore::default();
        for (name, text) in [
            ("title", " \n "),
            ("title", "\n A  book\n"),
            ("title", "its subtitle"),
            ("creator", "A\n Square"),
            ("creator", " "),
            ("creator", "B"),
            ("description", "\tIn  many dimensions"),
        ] {
            assert!(elements.begin(name));
            elements.push(text);
        }
        assert!(!elements.begin("item"));
        let metadata = elements.finish();
        assert_eq!(
            (metadata.title.as_str(), metadata.description.as_str()),
            ("A book", "In many dimensions")
        );
        assert_eq!(metadata.authors, ["A Square", "B"]);
    }
}
