//! Why ECB is never offered: one picture in clear, in ECB and in CTR.
//!
//! ECB makes equal blocks equal again, so that areas of one colour stay areas of one colour. That is the mode's fault and not
//! that of the toy cipher: AES in ECB shows the same outline. CTR is shown with AES, since a block of eight bits counts
//! to 256 and then repeats itself.

use super::cipher::Key;
use crate::record::Picture;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use anyhow::Context as _;
use base64::Engine as _;
use cipherloom_kernels::{Aes, Backend};

const WIDTH: usize = 192;
const HEIGHT: usize = 144;
const KEY: [u8; 16] = *b"a picture's key.";

/// The four pictures.
pub(super) fn all(key: Key) -> anyhow::Result<Vec<Picture>> {
    let clear = draw();
    let mut toy = clear.clone();
    key.shuffles().encrypt(&mut toy);
    let cipher = aes::Aes128::new(&KEY.into());
    let mut ecb = clear.clone();
    for block in ecb.as_chunks_mut::<16>().0 {
        let mut secret = (*block).into();
        cipher.encrypt_block(&mut secret);
        *block = secret.into();
    }
    let mut ctr = clear.clone();
    let kernel = Aes::new(&KEY, Backend::best()).ok().context("AES does not run here")?;
    kernel.ctr_xor(&[0; 16], 0, &mut ctr);
    [
        ("clear", "In clear: drawn by this program, 8 bits a pixel.", clear),
        ("sdes-ecb", "S-DES in ECB mode: every grey becomes another grey, and nothing is hidden.", toy),
        (
            "aes-ecb",
            "AES-128 in ECB mode: a good cipher in the same mode; equal runs of 16 pixels stay equal.",
            ecb,
        ),
        ("aes-ctr", "AES-128 in CTR mode: equal pixels become unequal; nothing is left to see.", ctr),
    ]
    .map(|(name, caption, pixels)| {
        Ok(Picture { name: name.to_owned(), caption: caption.to_owned(), png_base64: png(&pixels)? })
    })
    .into_iter()
    .collect()
}

/// A shuttle on a woven cloth, in four greys.
fn draw() -> Vec<u8> {
    let pixel = |x: usize, y: usize| {
        let (across, down) = (x as f64 - WIDTH as f64 / 2.0, y as f64 - HEIGHT as f64 / 2.0);
        // Two arcs that meet in points left and right.
        let height = 34.0 * (1.0 - (across / 84.0).powi(2));
        if down.abs() < height * 0.38 && across.abs() < 34.0 {
            return 250;
        }
        if down.abs() < height {
            return 30;
        }
        // Threads of 16 pixels, every other one on top.
        if (x / 16 + y / 16).is_multiple_of(2) { 205 } else { 150 }
    };
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| pixel(x, y))).collect()
}

fn png(pixels: &[u8]) -> anyhow::Result<String> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().context("cannot write a picture")?;
    writer.write_image_data(pixels).context("cannot write a picture")?;
    writer.finish().context("cannot write a picture")?;
    Ok(base64::engine::general_purpose::STANDARD.encode(&file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn pixels(picture: &Picture) -> Vec<u8> {
        let file = base64::engine::general_purpose::STANDARD.decode(&picture.png_base64).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    }

    #[test]
    fn ecb_keeps_the_outline_and_ctr_does_not() {
        let pictures = all(Key::new(0b10_1000_0010)).unwrap();
        let greys = |picture| pixels(picture).into_iter().collect::<BTreeSet<u8>>().len();
        assert_eq!((greys(&pictures[0]), greys(&pictures[1])), (4, 4));
        assert!(greys(&pictures[3]) > 200);
        // Runs of 16 pixels that occur more than once: most of them in ECB, none in CTR.
        let repeated = |picture: &Picture| {
            let pixels = pixels(picture);
            let runs: Vec<&[u8]> = pixels.chunks(16).collect();
            runs.len() - runs.iter().collect::<BTreeSet<_>>().len()
        };
        assert!(repeated(&pictures[2]) > 1000, "{}", repeated(&pictures[2]));
        assert_eq!(repeated(&pictures[2]), repeated(&pictures[0]));
        assert_eq!(repeated(&pictures[3]), 0);
    }
}
