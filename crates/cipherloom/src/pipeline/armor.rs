//! The armor of age files in single streams: removed where it is found, added where the format asks for it. Files of trees
//! are binary.

use crate::age::{ARMOR_MARKER, ArmorReader, is_armored};
use crate::format::Format;
use std::io::{self, Cursor, ErrorKind, Read};

/// The stream without its armor, if the format is age and the stream has one.
///
/// # Errors
/// If its first bytes cannot be read.
pub(super) fn remove_armor<'s>(format: &Format, source: &'s mut dyn Read) -> io::Result<Box<dyn Read + 's>> {
    if !format.is_age() {
        return Ok(Box::new(source));
    }
    let mut head = Vec::new();
    while may_become_armor(&head) {
        let mut more = [0; 64];
        match source.read(&mut more) {
            Ok(0) => break,
            Ok(count) => head.extend_from_slice(&more[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let armored = is_armored(&head);
    let whole = Cursor::new(head).chain(source);
    Ok(if armored { Box::new(ArmorReader::new(whole)) } else { Box::new(whole) })
}

/// Whether more bytes could make this the beginning of an armored file.
fn may_become_armor(head: &[u8]) -> bool {
    let begin = head.trim_ascii_start();
    begin.len() < ARMOR_MARKER.len() && ARMOR_MARKER.starts_with(begin) && head.len() < MOST_LOOKED_AT
}

/// White space in front of the armor is at most as long.
const MOST_LOOKED_AT: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::age::Identity;
    use crate::pipeline::job::Work;
    use crate::pipeline::translate_stream;
    use crate::report::Unobserved;

    /// Gives one byte at a time, as a slow pipe may.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(1);
            Read::read(&mut self.0, &mut buffer[..count])
        }
    }

    #[test]
    fn armor_is_added_where_it_is_wanted_and_removed_where_it_is_found() {
        let identity = Identity::generate().unwrap();
        let sealing = Format::age_for([identity.recipient()]).unwrap();
        let opening = Format::age_from([identity]).unwrap();
        for format in [sealing.clone(), sealing.with_armor()] {
            for text in [&b""[..], b"text"] {
                let mut sealed = Vec::new();
                translate_stream(
                    &Work::Encrypt(format.clone()),
                    b"",
                    &mut &text[..],
                    &mut sealed,
                    &Unobserved,
                )
                .unwrap();
                assert_eq!(is_armored(&sealed), format.is_armored());
                for work in [Work::Decrypt(opening.clone()), Work::Verify(opening.clone())] {
                    let mut opened = Vec::new();
                    translate_stream(&work, b"", &mut Slow(&sealed), &mut opened, &Unobserved).unwrap();
                    assert_eq!(opened, if matches!(work, Work::Decrypt(_)) { text } else { b"" });
                    let cut = &sealed[..sealed.len() - 2];
                    assert!(
                        translate_stream(&work, b"", &mut &cut[..], &mut Vec::new(), &Unobserved).is_err()
                    );
                }
            }
        }
    }
}
