//! The little that is needed of XML: a walk over a document's elements by their local names.
//!
//! quick-xml parses; it resolves no entity but the predefined ones and reads no DTD, so no document can grow or reach
//! out. EPUB 3.3 (section 3.9) allows UTF-8 and UTF-16.

use crate::Error;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::borrow::Cow;
use std::ops::Range;

/// Deeper than any real document nests.
const MOST_DEPTH: usize = 64;

/// More attributes than any real element has. To look for one costs as many steps as there are, squared.
const MOST_ATTRIBUTES: usize = 64;

/// One step of the walk.
pub(crate) enum Node<'n> {
    /// An element begins (one without content begins and ends).
    Open(Tag<'n>),
    /// An element ends.
    Close,
    /// Text between tags, references resolved.
    Text(Cow<'n, str>),
}

/// An element's beginning.
pub(crate) struct Tag<'n> {
    start: BytesStart<'n>,
    part: &'n str,
    position: usize,
}

impl Tag<'_> {
    /// The name without prefix.
    pub(crate) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    /// The name as it is written, with its prefix.
    pub(crate) fn qualified_name(&self) -> &str {
        self.start.name().into_inner()
    }

    /// The attribute with this local name, normalised as XML 1.0 says.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<String>, Error> {
        for attribute in self.start.attributes() {
            let attribute = attribute.map_err(|error| self.malformed(&error))?;
            if attribute.key.local_name().into_inner() == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                return Ok(Some(value.map_err(|error| self.malformed(&error))?.into_owned()));
            }
        }
        Ok(None)
    }

    /// Fails if an attribute is malformed, which is otherwise noticed only when one is asked for.
    pub(crate) fn check_attributes(&self) -> Result<(), Error> {
        match self.start.attributes().find_map(Result::err) {
            None => Ok(()),
            Some(error) => Err(self.malformed(&error)),
        }
    }

    fn malformed(&self, problem: &impl ToString) -> Error {
        Error::xml(self.part, problem.to_string(), self.position)
    }
}

/// Where in the document a step is, in bytes of its text.
pub(crate) type Span = Range<usize>;

/// A document's bytes as text, which holds only what XML allows: a control character in a name would end it for one
/// reader and not for another.
pub(crate) fn text<'b>(part: &str, bytes: &'b [u8]) -> Result<Cow<'b, str>, Error> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]]));
        char::decode_utf16(units).collect::<Result<String, _>>().ok().map(Cow::Owned)
    };
    let text = match bytes {
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => std::str::from_utf8(rest).ok().map(Cow::Borrowed),
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    };
    let text =
        text.ok_or_else(|| Error::xml(part, "it is neither UTF-8 nor UTF-16, the encodings of EPUB", 0))?;
    match text.char_indices().find(|(_, char)| !is_allowed(*char)) {
        None => Ok(text),
        Some((position, char)) => {
            Err(Error::xml(part, format!("it holds {char:?}, which XML does not allow"), position))
        }
    }
}

/// `Char` of XML 1.0, section 2.2.
fn is_allowed(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Walks over a whole document, whose entry is named `part`, and hands each step to `visit`.
///
/// # Errors
/// [`Error::Xml`] if the document is not well formed, or what `visit` returns.
pub(crate) fn walk(
    part: &str,
    text: &str,
    visit: &mut dyn FnMut(Node<'_>, Span) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::from_str(text);
    let (mut depth, mut roots) = (0_usize, 0_usize);
    loop {
        let start = reader.buffer_position() as usize;
        let malformed = |problem: &str| Error::xml(part, problem, start);
        let event = reader
            .read_event()
            .map_err(|error| Error::xml(part, error.to_string(), reader.error_position() as usize))?;
        let span = start..reader.buffer_position() as usize;
        if let Event::Start(tag) | Event::Empty(tag) = &event {
            // quick-xml does not check these rules of well-formedness (XML 1.0, sections 2.3 and 3.1).
            let name = tag.name().into_inner();
            if tag.contains('<') || name.is_empty() || name.contains(['/', '=', '"', '\'', '&']) {
                return Err(malformed("a tag has a name or value that XML does not allow"));
            }
            if tag.attributes().with_checks(false).take(MOST_ATTRIBUTES + 1).count() > MOST_ATTRIBUTES {
                return Err(malformed(&format!("a tag has more than {MOST_ATTRIBUTES} attributes")));
            }
            roots += usize::from(depth == 0);
            if roots > 1 {
                return Err(malformed("it has more than one root element"));
            }
        }
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > MOST_DEPTH {
                    return Err(malformed(&format!("it nests deeper than {MOST_DEPTH} elements")));
                }
                visit(Node::Open(Tag { start: tag, part, position: start }), span)?;
            }
            Event::Empty(tag) => {
                visit(Node::Open(Tag { start: tag, part, position: start }), span.clone())?;
                visit(Node::Close, span)?;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                visit(Node::Close, span)?;
            }
            Event::Text(text) => visit(Node::Text(text.xml10_content()), span)?,
            Event::CData(text) => visit(Node::Text(text.xml10_content()), span)?,
            Event::GeneralRef(reference) => {
                let resolved = match reference.resolve_char_ref() {
                    Ok(Some(character)) => character.to_string(),
                    Ok(None) => quick_xml::escape::resolve_predefined_entity(&reference.xml10_content())
                        // Entities of HTML appear in titles; their meaning does not matter here.
                        .unwrap_or("\u{FFFD}")
                        .to_owned(),
                    Err(error) => return Err(malformed(&error.to_string())),
                };
                visit(Node::Text(resolved.into()), span)?;
            }
            Event::Eof if depth > 0 => return Err(malformed("it ends inside an element")),
            Event::Eof if roots == 0 => return Err(malformed("it has no element")),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}
