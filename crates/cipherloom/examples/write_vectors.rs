//! Writes Tink streams in the form of `vectors/tink/vectors.json`, for Tink to check:
//!
//! ```sh
//! cargo run -p cipherloom --example write_vectors > written.json
//! python vectors/tink/verify.py written.json
//! ```

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cipherloom::Error;
use cipherloom::format::Format;
use cipherloom::key::{Keyset, Template};
use cipherloom_kernels::Backend;
use serde_json::{Map, Value, json};

fn main() -> Result<(), Error> {
    let mut keysets = Map::new();
    let mut vectors = Vec::new();
    for template in Template::ALL {
        let keyset = Keyset::generate(template)?;
        let json: Value = serde_json::from_str(&keyset.to_json()).expect("a keyset is JSON");
        keysets.insert(template.to_string(), json);
        let format = Format::tink(keyset, Backend::best())?;
        let layout = format.layout();
        let full = u64::from(layout.segment - layout.overhead);
        let first = full - u64::from(layout.first_deficit);
        for length in [0, 1, 100, first - 1, first, first + 1, first + full, first + full + 1] {
            let ciphertext = seal(&format, b"path/of/file", length)?;
            vectors.push(json!({
                "name": format!("{template}, {length} bytes"), "keyset": template.name(), "valid": true,
                "associated_data": STANDARD.encode("path/of/file"), "plaintext_len": length,
                "ciphertext": STANDARD.encode(ciphertext),
            }));
        }
    }
    println!("{}", json!({"origin": "cipherloom", "keysets": keysets, "vectors": vectors}));
    Ok(())
}

/// Seals the first `length` bytes of the vectors' pattern, segment by segment.
fn seal(format: &Format, associated_data: &[u8], length: u64) -> Result<Vec<u8>, Error> {
    let layout = format.layout();
    let mut ciphertext = vec![0; layout.ciphertext_len(length) as usize];
    let stream = format.seal_stream(associated_data, &mut ciphertext[..layout.header as usize])?;
    for index in 0..layout.segments(length) {
        let segment = layout.segment(index, length);
        let buffer = &mut ciphertext[segment.ciphertext_offset as usize..][..segment.ciphertext_len as usize];
        for (position, byte) in
            (segment.plaintext_offset..).zip(&mut buffer[..segment.plaintext_len as usize])
        {
            *byte = (position % 251) as u8 ^ (position / 251) as u8;
        }
        stream.seal_segment(index, segment.last, buffer)?;
    }
    Ok(ciphertext)
}
