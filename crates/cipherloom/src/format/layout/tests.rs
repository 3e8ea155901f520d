//! The arithmetic against a plain model that lays segments out one by one.

use super::*;
use proptest::prelude::*;

const TINK_4KB: Layout =
    Layout { header: 40, segment: 4096, overhead: 16, first_deficit: 40, last: LastSegment::MayBeFull };
const TINK_TINY: Layout = Layout { header: 5, segment: 12, overhead: 3, first_deficit: 5, ..TINK_4KB };
const TINK_LEAST: Layout = Layout { header: 5, segment: 9, overhead: 3, first_deficit: 5, ..TINK_4KB };
const CTR: Layout = Layout { header: 16, segment: 64, overhead: 0, first_deficit: 0, ..TINK_4KB };
const COBBLESTONE: Layout =
    Layout { header: 7, segment: 13, overhead: 3, first_deficit: 0, last: LastSegment::AlwaysShort };
const CBC: Layout =
    Layout { header: 16, segment: 48, overhead: 0, first_deficit: 0, last: LastSegment::Padded };
const CBC_BARE: Layout = Layout { header: 0, segment: 16, ..CBC };
const ALL: [Layout; 7] = [TINK_4KB, TINK_TINY, TINK_LEAST, CTR, COBBLESTONE, CBC, CBC_BARE];

/// Plaintext and ciphertext lengths of each segment, found by taking bytes off the front until none are left.
fn model(layout: &Layout, plaintext_len: u64) -> Vec<(u64, u64)> {
    let mut segments = Vec::new();
    let mut left = plaintext_len;
    loop {
        let deficit = if segments.is_empty() { layout.first_deficit } else { 0 };
        let room = u64::from(layout.segment - layout.overhead - deficit);
        let is_last = match layout.last {
            LastSegment::MayBeFull => left <= room,
            LastSegment::AlwaysShort | LastSegment::Padded => left < room,
        };
        if !is_last {
            segments.push((room, room + u64::from(layout.overhead)));
            left -= room;
            continue;
        }
        segments.push(match layout.last {
            LastSegment::Padded => (left, left + (16 - left % 16)),
            _ => (left, left + u64::from(layout.overhead)),
        });
        return segments;
    }
}

fn agrees_with_model(layout: &Layout, plaintext_len: u64) {
    let model = model(layout, plaintext_len);
    let count = model.len() as u64;
    let ciphertext_len = u64::from(layout.header) + model.iter().map(|segment| segment.1).sum::<u64>();
    assert_eq!(layout.segments(plaintext_len), count, "{layout:?} {plaintext_len}");
    assert_eq!(layout.ciphertext_len(plaintext_len), ciphertext_len, "{layout:?} {plaintext_len}");
    assert_eq!(layout.segments_of_ciphertext(ciphertext_len).unwrap(), count);

    let is_padded = layout.last == LastSegment::Padded;
    let found = layout.plaintext_len(ciphertext_len).unwrap();
    assert!(found == plaintext_len || (is_padded && found / 16 == plaintext_len / 16 && found % 16 == 15));

    let (mut plaintext_offset, mut ciphertext_offset) = (0, u64::from(layout.header));
    for (index, (plain, cipher)) in (0..).zip(model) {
        let last = index + 1 == count;
        let segment = index..index + 1;
        let (plain_end, cipher_end) = (plaintext_offset + plain, ciphertext_offset + cipher);
        assert_eq!(
            layout.plaintext_range(&segment, plaintext_len),
            plaintext_offset..plain_end,
            "{layout:?} {plaintext_len}"
        );
        assert_eq!(layout.ciphertext_range(&segment, ciphertext_len), ciphertext_offset..cipher_end);
        assert_eq!(layout.ciphertext_offset(index), ciphertext_offset);
        assert!(layout.fits(index, last, cipher));
        for (form, left) in [
            (Form::Plaintext, plaintext_len - plaintext_offset),
            (Form::Ciphertext, ciphertext_len - ciphertext_offset),
        ] {
            let before_last = layout.segments_before_last(index, left, form);
            assert_eq!(before_last, count - 1 - index, "{layout:?} {plaintext_len}, {form:?} from {index}");
        }
        if plain > 0 {
            assert_eq!(layout.segment_at(plaintext_offset), index);
            assert_eq!(layout.segment_at(plaintext_offset + plain - 1), index);
        }
        (plaintext_offset, ciphertext_offset) = (plain_end, cipher_end);
    }
    assert_eq!(plaintext_offset, plaintext_len);
}

#[test]
fn every_small_length_agrees_with_the_model() {
    for layout in ALL {
        for plaintext_len in 0..600 {
            agrees_with_model(&layout, plaintext_len);
        }
    }
    for plaintext_len in 3_900..13_000 {
        agrees_with_model(&TINK_4KB, plaintext_len);
    }
}

#[test]
fn ciphertext_lengths_that_no_plaintext_has_are_refused() {
    for layout in ALL {
        let possible: std::collections::HashSet<u64> =
            (0..1000).map(|length| layout.ciphertext_len(length)).collect();
        for length in 0..600 {
            let result = layout.plaintext_len(length);
            if possible.contains(&length) {
                assert_eq!(layout.ciphertext_len(result.unwrap()), length, "{layout:?}");
            } else {
                let is_refused =
                    matches!(result, Err(Error::ImpossibleLength { length: named }) if named == length);
                assert!(is_refused, "{layout:?} {length}");
                assert!(layout.segments_of_ciphertext(length).is_err());
            }
        }
    }
}

#[test]
fn fits_knows_each_segment_length() {
    for layout in ALL.into_iter().skip(1) {
        let mut seen = std::collections::HashSet::new();
        for plaintext_len in 0..400 {
            for (index, segment) in (0u64..).zip(model(&layout, plaintext_len)) {
                let last = index + 1 == layout.segments(plaintext_len);
                seen.insert((index.min(1), last, segment.1));
            }
        }
        for index in [0, 1] {
            for last in [false, true] {
                for length in 0..100 {
                    let expected = seen.contains(&(index, last, length));
                    assert_eq!(
                        layout.fits(index, last, length),
                        expected,
                        "{layout:?} {index} {last} {length}"
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_layout_agrees_with_the_model(
        header in 0u32..60, room in 1u32..80, overhead in 0u32..40, deficit in 0u32..60, blocks in 1u32..8,
        kind in 0..3, plaintext_len in 0u64..3000,
    ) {
        let layout = match kind {
            0 => Layout { header, segment: room + overhead + deficit, overhead, first_deficit: deficit, ..TINK_4KB },
            1 => Layout { header, segment: room + overhead, overhead, first_deficit: 0, ..COBBLESTONE },
            _ => Layout { header, segment: 16 * blocks, ..CBC },
        };
        // A full segment without overhead and an absent one would look alike to an always-short last segment.
        agrees_with_model(&layout, plaintext_len);
    }

    #[test]
    fn no_length_overflows(plaintext_len in prop_oneof![any::<u64>(), u64::MAX - 100_000..=u64::MAX], pick in 0usize..7) {
        let layout = ALL[pick];
        let segments = layout.segments(plaintext_len);
        let last = layout.plaintext_range(&(segments - 1..segments), plaintext_len);
        prop_assert_eq!(last.end, plaintext_len);
        prop_assert!(last.start <= last.end && last.end - last.start <= u64::from(layout.segment));
        let ciphertext_len = layout.ciphertext_len(plaintext_len);
        prop_assert!(ciphertext_len >= plaintext_len);
        if ciphertext_len < u64::MAX {
            prop_assert_eq!(layout.segments_of_ciphertext(ciphertext_len).unwrap(), segments);
        }
        // Read as a ciphertext length it may be possible or not, but never overflows.
        if let Ok(segments) = layout.segments_of_ciphertext(plaintext_len) {
            let last = layout.ciphertext_range(&(segments - 1..segments), plaintext_len);
            prop_assert_eq!(last.end, plaintext_len);
            prop_assert!(last.start <= last.end && last.end - last.start <= u64::from(layout.segment));
            prop_assert!(layout.plaintext_len(plaintext_len).unwrap() <= plaintext_len);
        }
        let _ = layout.segment_at(plaintext_len);
        let _ = layout.ciphertext_offset(plaintext_len);
    }
}
