//! Media types: which content is compressed already, and what a name's extension says where nothing else does.

/// Whether content of this type shrinks when deflated. Images, video, audio and PDF are compressed by their own means,
/// and readers fetch them in ranges, which deflate would not allow (Readium LCP, section 3.1; so does
/// readium-lcp-server).
pub(crate) fn is_compressible(media_type: &str) -> bool {
    let media_type = media_type.trim().to_ascii_lowercase();
    // SVG is text, but an image by its type's name: other producers leave it alone too.
    !["image/", "video/", "audio/"].iter().any(|kind| media_type.starts_with(kind))
        && !media_type.starts_with("application/pdf")
}

/// The type of a name's extension; empty if it is not known.
pub(crate) fn of_name(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    match extension.as_str() {
        "xhtml" | "xht" => "application/xhtml+xml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "jxl" => "image/jxl",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "m4a" | "m4b" | "mp4a" => "audio/mp4",
        "aac" => "audio/aac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "mp4" | "m4v" => "video/mp4",
        "webm" => "video/webm",
        "pdf" => "application/pdf",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_is_left_alone_and_text_is_not() {
        for compressed in ["image/jpeg", "IMAGE/PNG", "audio/mpeg", "video/mp4", "application/pdf"] {
            assert!(!is_compressible(compressed), "{compressed}");
        }
        for text in ["application/xhtml+xml", "text/css", "", "application/vnd.ms-opentype"] {
            assert!(is_compressible(text), "{text}");
        }
        assert_eq!(of_name("OEBPS/a.b/Cover.JPG"), "image/jpeg");
        assert_eq!(of_name("README"), "");
    }
}
