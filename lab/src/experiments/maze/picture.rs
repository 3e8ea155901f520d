//! Pictures of a maze as PNG, of one moment or of several (APNG, W3C "PNG Specification, Third Edition"): a palette of 16
//! colours, two pixels in a byte.

use super::automaton::{Life, Rule, Setting};
use super::cell::{CLAIMED, DOT, FILLED, FLOOR, HEAD, OPEN, RESERVED, TRAIL, WALL, is_passage, kind};
use super::proof;
use crate::record::Picture;
use anyhow::Context as _;
use base64::Engine as _;
use std::io::Write;
use std::path::Path;

/// Red, green and blue of each kind, then of the way, the start and the goal.
pub(super) const COLOURS: [[u8; 3]; 16] = {
    let mut colours = [[0; 3]; 16];
    colours[FLOOR as usize] = [0x26, 0x31, 0x42];
    colours[WALL as usize] = [0x12, 0x18, 0x22];
    colours[HEAD as usize] = [0xff, 0xb4, 0x54];
    colours[RESERVED as usize] = [0xc9, 0x7a, 0x2b];
    colours[OPEN as usize] = [0xe8, 0xec, 0xf1];
    colours[DOT as usize] = [0x1f, 0x6f, 0xeb];
    colours[CLAIMED as usize] = [0x8a, 0xb8, 0xff];
    colours[FILLED as usize] = [0x9a, 0xa5, 0xb4];
    colours[WAY as usize] = [0xd9, 0x3a, 0x63];
    colours[ENDS as usize] = [0x1a, 0x9e, 0x5c];
    colours
};
pub(super) const WAY: u8 = 8;
pub(super) const ENDS: u8 = 9;

/// A colour for each cell; `way` says whether passages that are open are the way.
pub(super) fn colours(setting: &Setting, cells: &[u32], is_solved: bool) -> Vec<u8> {
    let colour = |(index, &cell): (usize, &u32)| match kind(cell) {
        _ if (index == setting.start() || index == setting.goal()) && kind(cell) != DOT => ENDS,
        _ if cell & TRAIL != 0 && is_passage(cell) => WAY,
        OPEN if is_solved => WAY,
        kind => kind as u8,
    };
    cells.iter().enumerate().map(colour).collect()
}

/// A file with these pictures, each shown for so many milliseconds.
pub(super) fn encode(
    setting: &Setting,
    scale: u32,
    pictures: &[(Vec<u8>, u16)],
    out: impl Write,
) -> anyhow::Result<()> {
    let (width, height) = (setting.width * scale, setting.height * scale);
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(COLOURS.concat());
    if pictures.len() > 1 {
        encoder.set_animated(pictures.len() as u32, 0)?;
    }
    let mut writer = encoder.write_header()?;
    for (colours, milliseconds) in pictures {
        if pictures.len() > 1 {
            writer.set_frame_delay(*milliseconds, 1000)?;
        }
        writer.write_image_data(&pixels(setting, scale, colours))?;
    }
    Ok(writer.finish()?)
}

/// Rows of four-bit pixels, each begun in a new byte.
fn pixels(setting: &Setting, scale: u32, colours: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for row in colours.chunks_exact(setting.width as usize) {
        let wide: Vec<u8> =
            row.iter().flat_map(|colour| std::iter::repeat_n(*colour, scale as usize)).collect();
        let packed: Vec<u8> =
            wide.chunks(2).map(|pair| (pair[0] << 4) | pair.get(1).copied().unwrap_or(0)).collect();
        for _ in 0..scale {
            data.extend_from_slice(&packed);
        }
    }
    data
}

/// Pixels of a cell's side, so that small mazes can be seen and large ones stay handy.
pub(super) fn scale(setting: &Setting) -> u32 {
    (768 / setting.width.max(setting.height)).clamp(1, 8)
}

/// Writes the solved maze as PNG.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write_png(setting: &Setting, path: &Path) -> anyhow::Result<()> {
    let solved = Life::of(Rule::Fill, setting, Life::grown(setting).cells, |_, _| ());
    let pictures = [(colours(setting, &solved.cells, true), 0)];
    write(path, |out| encode(setting, scale(setting), &pictures, out))
}

/// A file that bears its name only when it is complete.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder.unwrap_or(".".as_ref()))
        .with_context(cannot_write)?;
    fill(&mut file).with_context(cannot_write)?;
    file.persist(path).with_context(cannot_write)?;
    Ok(())
}

/// Three moments of a small maze, for the record.
pub(super) fn moments(seed: u32, dots: u32) -> anyhow::Result<Vec<Picture>> {
    let setting = Setting::new(65, 49, seed);
    let dotted = setting.with_chance(dots);
    let mut half = Vec::new();
    let grown = Life::of(Rule::Grow, &setting, setting.plot(), |_, cells| {
        if half.is_empty() && proof::grown_share(&setting, cells) >= 0.5 {
            half = cells.to_vec();
        }
    });
    let frames = Life::of(Rule::Dots, &dotted, grown.cells.clone(), |_, _| ()).frames;
    let mut wandering = Vec::new();
    let trail = Life::of(Rule::Dots, &dotted, grown.cells.clone(), |frame, cells| {
        if frame == frames / 4 {
            wandering = cells.to_vec();
        }
    });
    let filled = Life::of(Rule::Fill, &setting, grown.cells.clone(), |_, _| ());
    let picture = |name: &str, caption: String, cells: &[u32], is_solved: bool| {
        let mut file = Vec::new();
        encode(&setting, 3, &[(colours(&setting, cells, is_solved), 0)], &mut file)?;
        let png_base64 = base64::engine::general_purpose::STANDARD.encode(&file);
        anyhow::Ok(Picture { name: name.to_owned(), caption, png_base64 })
    };
    Ok(vec![
        picture(
            "growing",
            "Half grown: heads (orange) build walls on from those that stand.".into(),
            &half,
            false,
        )?,
        picture(
            "grown",
            format!("Grown after {} frames: every room can be reached on one way.", grown.frames),
            &grown.cells,
            false,
        )?,
        picture(
            "wandering",
            "Dots (blue) look for the goal and fill (grey) what leads nowhere.".into(),
            &wandering,
            false,
        )?,
        picture(
            "trail",
            format!("The trail that the first dot to arrive has left, after {} frames.", trail.frames),
            &trail.cells,
            false,
        )?,
        picture(
            "filled",
            format!("All dead ends filled, after {} frames: the same way.", filled.frames),
            &filled.cells,
            true,
        )?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::new(17, 13, 1);
        let still = folder.path().join("a.png");
        write_png(&setting, &still).unwrap();
        let way = proof::shortest_way(&setting, &Life::grown(&setting).cells).unwrap();
        let file = std::fs::read(&still).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!((reader.info().width, reader.info().height), (17 * 8, 13 * 8));
        // A pixel of each cell's middle, from rows of two pixels a byte.
        let colour = |index: usize| {
            let (x, y) = ((index % 17) * 8 + 4, (index / 17) * 8 + 4);
            pixels[y * 17 * 4 + x / 2] >> 4
        };
        let shown: Vec<usize> =
            (0..setting.cells()).filter(|index| [WAY, ENDS].contains(&colour(*index))).collect();
        assert_eq!(shown, way);
    }
}
