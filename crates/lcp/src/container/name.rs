//! Which names an entry may have: EPUB OCF 3.3, section 4.2.2, and what keeps it inside its publication.

use crate::Error;

/// Longer than any path that a file system takes.
const MOST_LEN: usize = 4096;

/// The name as text.
///
/// # Errors
/// [`Error::EntryName`] for a name that leads out of the publication or that programs read in different ways.
pub(super) fn checked(bytes: &[u8]) -> Result<String, Error> {
    let Ok(name) = std::str::from_utf8(bytes) else { return Err(refused(bytes, "is not UTF-8")) };
    let has_drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    let mut parts = name.strip_suffix('/').unwrap_or(name).split('/');
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > MOST_LEN {
        "is longer than 4096 bytes"
    } else if name.chars().any(char::is_control) {
        "has a control character"
    } else if name.contains('\\') {
        "has a backslash, which some systems take for a folder's end"
    } else if name.starts_with('/') || has_drive {
        "is absolute"
    } else {
        match parts.find(|part| matches!(*part, ".." | "." | "")) {
            Some("..") => "leads out of its folder (`..`)",
            Some(_) => "has an empty part or `.`",
            None => return Ok(name.to_owned()),
        }
    };
    Err(refused(bytes, problem))
}

fn refused(name: &[u8], problem: &'static str) -> Error {
    let entry = String::from_utf8_lossy(&name[..name.len().min(200)]).into_owned();
    Error::EntryName { entry, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        for good in ["mimetype", "OEBPS/a b.xhtml", "OEBPS/", "ä/ö..ü", "a...b", "..a/b"] {
            assert_eq!(checked(good.as_bytes()).unwrap(), good);
        }
        for (bad, why) in [
            ("../a", "leads out"),
            ("a/../../b", "leads out"),
            ("a/..", "leads out"),
            ("/etc/passwd", "absolute"),
            ("C:/a", "absolute"),
            ("a\\b", "backslash"),
            ("a//b", "empty part"),
            ("./a", "empty part"),
            ("/", "absolute"),
            ("", "empty"),
            ("a\nb", "control"),
        ] {
            let message = checked(bad.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(why), "{bad:?}: {message}");
        }
        assert!(checked(b"\xff").unwrap_err().to_string().contains("UTF-8"));
        assert!(checked(&[b'a'; 4097]).unwrap_err().to_string().contains("4096"));
    }
}
