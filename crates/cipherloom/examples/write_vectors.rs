//! Writes Tink streams in the form of `vectors/tink/vectors.json`, for Tink to check:
//!
//! ```sh
//! cargo run -p cipherloom --example write_vectors > written.json
//! python vectors/tink/verify.py written.json
//! ```

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cipherloom::format::Format;
use cipherloom::key::{Keyset, Template};
use cipherloom::{Error, stream};
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
            let plaintext: Vec<u8> =
                (0..length).map(|position| (position % 251) as u8 ^ (position / 251) as u8).collect();
            let ciphertext = stream::encrypt_with_format(&plaintext, &format, b"path/of/file")?;
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
