//! The metadata of a package document (Dublin Core), collected element by element.
//!
//! Every step costs as much as the text that it gets, whatever was collected before: documents come from strangers.

use super::Metadata;

/// The metadata elements that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Title,
    Author,
    Publisher,
    Description,
    Date,
    Language,
    Subject,
}

impl Field {
    /// The field that an element of this local name is about.
    pub(super) fn of(element: &str) -> Option<Field> {
        Some(match element {
            "title" => Field::Title,
            "creator" => Field::Author,
            "publisher" => Field::Publisher,
            "description" => Field::Description,
            "date" => Field::Date,
            "language" => Field::Language,
            "subject" => Field::Subject,
            _ => return None,
        })
    }
}

impl Metadata {
    /// An element of this field begins.
    pub(super) fn begin(&mut self, field: Field) {
        match self.text(field) {
            // The first title is the one that counts; a line break ends it.
            Ok(text) if field == Field::Title && !text.is_empty() => text.push('\n'),
            Ok(_) => {}
            Err(list) => list.push(String::new()),
        }
    }

    /// The element that has begun last contains this text.
    pub(super) fn push(&mut self, field: Field, content: &str) {
        match self.text(field) {
            Ok(text) if field == Field::Title && text.is_empty() => text.push_str(content.trim_start()),
            Ok(text) => text.push_str(content),
            Err(list) => {
                if let Some(text) = list.last_mut() {
                    text.push_str(content);
                }
            }
        }
    }

    /// Leaves the first title alone, makes all white space single spaces, and drops what is empty.
    pub(super) fn tidy(&mut self) {
        let tidy = |text: &mut String| *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Metadata { title, authors, publishers, description, date, languages, subjects } = self;
        *title = title.lines().next().unwrap_or_default().to_owned();
        [title, description, date].into_iter().for_each(tidy);
        for list in [authors, publishers, languages, subjects] {
            list.iter_mut().for_each(tidy);
            list.retain(|text| !text.is_empty());
        }
    }

    /// The text that a field is, or the list that it is in.
    fn text(&mut self, field: Field) -> Result<&mut String, &mut Vec<String>> {
        match field {
            Field::Title => Ok(&mut self.title),
            Field::Description => Ok(&mut self.description),
            Field::Date => Ok(&mut self.date),
            Field::Author => Err(&mut self.authors),
            Field::Publisher => Err(&mut self.publishers),
            Field::Language => Err(&mut self.languages),
            Field::Subject => Err(&mut self.subjects),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_title_and_every_author_are_kept() {
        let mut metadata = Metadata::default();
        let elements = [
            (Field::Title, " \n "),
            (Field::Title, "\n A  book\n"),
            (Field::Title, "its subtitle"),
            (Field::Author, "A\n Square"),
            (Field::Author, " "),
            (Field::Author, "B"),
            (Field::Date, "1884"),
        ];
        for (field, text) in elements {
            metadata.begin(field);
            metadata.push(field, text);
        }
        metadata.tidy();
        assert_eq!((metadata.title.as_str(), metadata.date.as_str()), ("A book", "1884"));
        assert_eq!(metadata.authors, ["A Square", "B"]);
    }
}
