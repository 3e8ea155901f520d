//! Growth and solution as moving pictures: animated PNG, and GIF (CompuServe, "Graphics Interchange Format, Version 89a") for
//! places that take no other. In GIF a picture holds what has changed since the one before; the rest is transparent.

use super::automaton::{Life, Rule, Setting};
use super::picture::{COLOURS, colours, encode, scale, write};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

/// There are no more pictures than about this, and each is shown for so many thousandths of a second.
const MOST_PICTURES: u32 = 160;
const DELAY: u16 = 50;
const LAST_DELAY: u16 = 3000;

/// A colour that no cell has.
const TRANSPARENT: u8 = 15;

/// A colour for each cell, and how long it is shown, in milliseconds.
type Moment = (Vec<u8>, u16);

/// Writes growth and solution by dots as APNG.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write_apng(setting: &Setting, dots: u32, path: &Path) -> anyhow::Result<()> {
    write(path, |out| encode(setting, scale(setting), &moments(setting, dots), out))
}

/// Writes the same as GIF, over and over.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write_gif(setting: &Setting, dots: u32, path: &Path) -> anyhow::Result<()> {
    write(path, |out| encode_gif(setting, scale(setting), &moments(setting, dots), out))
}

fn moments(setting: &Setting, dots: u32) -> Vec<Moment> {
    let dotted = setting.with_chance(dots);
    let grown = Life::grown(setting);
    let solved = Life::of(Rule::Dots, &dotted, grown.cells.clone(), |_, _| ());
    // As much time for one as for the other, and every frame where there are few.
    let stride = |frames: u32| (2 * frames).div_ceil(MOST_PICTURES).max(1);
    let mut moments = vec![(colours(setting, &setting.plot(), false), DELAY)];
    let mut take = |frames: u32, frame: u32, cells: &[u32]| {
        if frame.is_multiple_of(stride(frames)) || frame == frames {
            let delay = if frame == frames { LAST_DELAY } else { DELAY };
            moments.push((colours(setting, cells, false), delay));
        }
    };
    let _ = Life::of(Rule::Grow, setting, setting.plot(), |frame, cells| take(grown.frames, frame, cells));
    let _ = Life::of(Rule::Dots, &dotted, grown.cells, |frame, cells| take(solved.frames, frame, cells));
    moments
}

fn encode_gif(setting: &Setting, scale: u32, moments: &[Moment], out: impl Write) -> anyhow::Result<()> {
    let side = |cells: u32| u16::try_from(cells * scale);
    let (width, height) = (side(setting.width)?, side(setting.height)?);
    let mut encoder = gif::Encoder::new(out, width, height, &COLOURS.concat())?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    let mut shown: Option<&[u8]> = None;
    for (colours, milliseconds) in moments {
        let changed: Vec<u8> = match shown {
            Some(shown) => (shown.iter().zip(colours))
                .map(|(before, now)| if before == now { TRANSPARENT } else { *now })
                .collect(),
            None => colours.clone(),
        };
        let mut frame = gif::Frame {
            width,
            height,
            delay: milliseconds / 10,
            dispose: gif::DisposalMethod::Keep,
            transparent: shown.map(|_| TRANSPARENT),
            buffer: Cow::Owned(enlarged(setting, scale, &changed)),
            ..gif::Frame::default()
        };
        frame.make_lzw_pre_encoded();
        encoder.write_lzw_pre_encoded_frame(&frame)?;
        shown = Some(colours);
    }
    Ok(())
}

/// A byte for each pixel.
fn enlarged(setting: &Setting, scale: u32, colours: &[u8]) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(colours.len() * (scale * scale) as usize);
    for row in colours.chunks_exact(setting.width as usize) {
        let wide: Vec<u8> =
            row.iter().flat_map(|colour| std::iter::repeat_n(*colour, scale as usize)).collect();
        (0..scale).for_each(|_| pixels.extend_from_slice(&wide));
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::super::picture::{ENDS, WAY};
    use super::super::proof::shortest_way;
    use super::*;

    const DOTS: u32 = 16_384;

    /// The cells of the last picture that are shown as the way; `pixel` gives a pixel's colour.
    fn shown_way(setting: &Setting, pixel: impl Fn(usize, usize) -> u8) -> Vec<usize> {
        let width = setting.width as usize;
        let colour = |index: usize| pixel((index % width) * 8 + 4, (index / width) * 8 + 4);
        (0..setting.cells()).filter(|index| [WAY, ENDS].contains(&colour(*index))).collect()
    }

    #[test]
    fn both_kinds_end_with_the_way_after_the_same_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::new(17, 13, 1);
        let way = shortest_way(&setting, &Life::grown(&setting).cells).unwrap();
        let (apng, gif) = (folder.path().join("a.apng"), folder.path().join("a.gif"));
        write_apng(&setting, DOTS, &apng).unwrap();
        write_gif(&setting, DOTS, &gif).unwrap();

        let file = std::fs::read(&apng).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let count = reader.info().animation_control().unwrap().num_frames;
        assert!(count > 20 && count <= MOST_PICTURES + 4, "{count} pictures");
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for _ in 0..count {
            reader.next_frame(&mut pixels).unwrap();
        }
        assert_eq!(shown_way(&setting, |x, y| pixels[y * 17 * 4 + x / 2] >> 4), way);

        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::Indexed);
        let mut reader = options.read_info(std::fs::File::open(&gif).unwrap()).unwrap();
        assert_eq!((reader.width(), reader.height()), (17 * 8, 13 * 8));
        assert_eq!(reader.global_palette().unwrap()[..COLOURS.as_flattened().len()], COLOURS.concat());
        let (mut pictures, mut screen) = (0, vec![0; 17 * 8 * 13 * 8]);
        while let Some(frame) = reader.read_next_frame().unwrap() {
            for (pixel, new) in screen.iter_mut().zip(&*frame.buffer) {
                if Some(*new) != frame.transparent {
                    *pixel = *new;
                }
            }
            pictures += 1;
        }
        assert_eq!(pictures, count);
        assert_eq!(shown_way(&setting, |x, y| screen[y * 17 * 8 + x]), way);
    }
}
