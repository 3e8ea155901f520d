//! What was cut, extended, moved, damaged or made with another key does not open.

use super::*;

/// Both ways must fail, and what comes out before is true.
fn assert_refused(format: &Format, associated_data: &[u8], changed: &[u8], text: &[u8], what: &str) {
    let what = format!("{format:?}, {what}");
    let error = open_known(format, associated_data, changed, 2).expect_err(&what);
    assert!(error.is_authentication(), "{what}: {error}");
    let (plaintext, error) = open_found(format, associated_data, changed, 5000);
    let error = error.expect(&what);
    assert!(error.is_authentication(), "{what}: {error}");
    assert!(text.starts_with(&plaintext), "{what}: plaintext that was never written");
}

/// Where a stream may be cut so that it looks most alike: every segment's border and the bytes beside it, the header, and places
/// that nobody chose.
fn cuts(format: &Format, length: usize) -> Vec<usize> {
    let layout = format.layout();
    let segments = layout.segments_of_ciphertext(length as u64).unwrap();
    let arbitrary = (1..if is_large(format) { 4 } else { 60 }).map(|turn| turn * 7_654_321 % length);
    (0..segments)
        .map(|index| layout.ciphertext_offset(index) as usize)
        .flat_map(|border| [border.saturating_sub(1), border, border + 1])
        .chain([0, 1, layout.header as usize, length - 1, length - 16])
        .chain(arbitrary)
        .filter(|&cut| cut < length)
        .collect()
}

#[test]
fn a_truncated_stream_is_never_taken_for_a_whole_one() {
    let text = pattern((2 << 20) + 99);
    for format in authenticated() {
        for length in few_lengths(&format) {
            let sealed = sealed(&format, &text[..length]);
            for cut in cuts(&format, sealed.len()) {
                let what = format!("{length} bytes, cut at {cut}");
                assert_refused(&format, associated_data(&format), &sealed[..cut], &text, &what);
            }
        }
    }
}

#[test]
fn a_stream_without_its_empty_last_segment_is_truncated() {
    for format in authenticated().filter(|format| format.layout().last == LastSegment::AlwaysShort) {
        let layout = format.layout();
        let text = pattern(layout.plaintext_offset(2) as usize);
        let sealed = sealed(&format, &text);
        assert_eq!(sealed.len() as u64, layout.ciphertext_offset(2) + u64::from(layout.overhead));
        assert!(open_known(&format, associated_data(&format), &sealed, 2).unwrap() == text);
        assert_refused(
            &format,
            associated_data(&format),
            &sealed[..layout.ciphertext_offset(2) as usize],
            &text,
            "no last segment",
        );
    }
}

#[test]
fn a_longer_stream_is_refused() {
    let text = pattern((2 << 20) + 99);
    for format in authenticated() {
        for length in few_lengths(&format) {
            let sealed = sealed(&format, &text[..length]);
            let body = &sealed[format.layout().header as usize..];
            for (tail, what) in [
                (&[0][..], "a byte"),
                (&[0; 16], "a tag of zeros"),
                (&vec![0; format.layout().segment as usize], "a segment of zeros"),
                (&sealed, "itself"),
                (body, "its segments"),
            ] {
                let longer = [&sealed, tail].concat();
                assert_refused(
                    &format,
                    associated_data(&format),
                    &longer,
                    &text,
                    &format!("{length} bytes and {what}"),
                );
            }
        }
    }
}

#[test]
fn segments_have_their_place() {
    for format in authenticated().filter(|format| !is_large(format)) {
        let layout = format.layout();
        let text = pattern(layout.plaintext_offset(4) as usize + 100);
        let sealed = sealed(&format, &text);
        let all = layout.segments_of_ciphertext(sealed.len() as u64).unwrap();
        let segment = |index: u64| {
            let range = layout.ciphertext_range(&(index..index + 1), sealed.len() as u64);
            &sealed[range.start as usize..range.end as usize]
        };
        let header = &sealed[..layout.header as usize];
        let other = self::sealed(&format, &text);
        let of = |order: &[u64]| {
            [header].into_iter().chain(order.iter().map(|&index| segment(index))).collect::<Vec<_>>().concat()
        };
        assert!(all == 5 && of(&[0, 1, 2, 3, 4]) == sealed);
        for (order, what) in [
            (&[0, 2, 1, 3, 4][..], "swapped"),
            (&[0, 1, 1, 2, 3, 4], "duplicated"),
            (&[0, 1, 3, 4], "one missing"),
            (&[0, 3, 2, 1, 4], "reordered"),
            (&[0, 1, 2, 4, 3], "the last before"),
            (&[4], "only the last"),
            (&[0, 1, 2, 3, 4, 4], "the last twice"),
        ] {
            assert_refused(&format, associated_data(&format), &of(order), &text, what);
        }
        let third = layout.ciphertext_range(&(2..3), sealed.len() as u64);
        let mut mixed = sealed.clone();
        mixed[third.start as usize..third.end as usize]
            .copy_from_slice(&other[third.start as usize..third.end as usize]);
        assert_refused(&format, associated_data(&format), &mixed, &text, "another stream's");
    }
}

#[test]
fn damage_is_seen_in_every_segment_and_located() {
    for format in authenticated() {
        let layout = format.layout();
        let text = pattern(layout.plaintext_offset(3) as usize + 100);
        let sealed = sealed(&format, &text);
        for index in 0..4 {
            let range = layout.ciphertext_range(&(index..index + 1), sealed.len() as u64);
            for position in [range.start, (range.start + range.end) / 2, range.end - 1] {
                let mut damaged = sealed.clone();
                damaged[position as usize] ^= 4;
                let (plaintext, error) = open_found(&format, associated_data(&format), &damaged, 5 << 20);
                let before = layout.plaintext_offset(index) as usize;
                assert!(plaintext == text[..before], "what comes before it opens: {format:?}");
                match error.unwrap() {
                    Error::DamagedSegment { index: found, offset } => {
                        assert_eq!((found, offset), (index, layout.ciphertext_offset(index)));
                    }
                    error => assert!(index == 0 && matches!(error, Error::FirstSegment), "{error:?}"),
                }
                assert!(
                    open_known(&format, associated_data(&format), &damaged, 3)
                        .unwrap_err()
                        .is_authentication()
                );
            }
        }
    }
}

#[test]
fn every_bit_of_a_short_stream_counts() {
    for format in authenticated() {
        let text = pattern(5);
        let sealed = sealed(&format, &text);
        for position in 0..sealed.len() {
            for bit in [0, 7] {
                let mut flipped = sealed.clone();
                flipped[position] ^= 1 << bit;
                assert_refused(
                    &format,
                    associated_data(&format),
                    &flipped,
                    &text,
                    &format!("bit {bit} of byte {position}"),
                );
            }
        }
    }
}

#[test]
fn another_key_or_other_associated_data_opens_nothing() {
    let text = pattern(10_000);
    let others = authenticated().map(|format| match format.name() {
        "tink" => tink(Template::Aes256GcmHkdf4Kb),
        "age" => age(),
        _ => cobblestone(&[2; 32]),
    });
    for (format, other) in authenticated().zip(others) {
        let sealed = sealed(&format, &text);
        assert_refused(&other, associated_data(&other), &sealed, b"", "another key");
        if !format.binds_associated_data() {
            let refused = Sealing::begin(&format, b"bound").unwrap_err();
            assert!(matches!(refused, Error::AssociatedDataUnsupported { .. }), "{refused:?}");
            continue;
        }
        let long = pattern(3000);
        for (bound, given) in [(&b"a"[..], &b"b"[..]), (b"a", b""), (b"", b"a"), (&long, &long[1..])] {
            let sealed = seal_all(&format, bound, &text, 2);
            assert!(open_known(&format, bound, &sealed, 2).unwrap() == text);
            assert_refused(&format, given, &sealed, b"", "other associated data");
        }
    }
}

/// Without authentication only lengths that no CBC stream has must fail, and padding that cannot be.
#[test]
fn a_truncated_cbc_stream_fails_unless_its_padding_happens_to_fit() {
    let text = pattern((1 << 20) + 100);
    for format in [raw(Cipher::Aes128Cbc, IvPolicy::Prefixed), openssl(Cipher::Aes256Cbc)] {
        let sealed = sealed(&format, &text);
        let header = format.layout().header as usize;
        for cut in
            [0, 1, header - 1, header, header + 1, header + 15, header + (1 << 20) + 1, sealed.len() - 1]
        {
            assert!(open_known(&format, b"", &sealed[..cut], 2).is_err(), "{format:?}, cut at {cut}");
            assert!(open_found(&format, b"", &sealed[..cut], 70_000).1.is_some(), "{format:?}, cut at {cut}");
        }
    }
}

#[test]
fn what_follows_the_end_is_named_where_the_cipher_can_tell() {
    // The MAC of CTR-HMAC can be asked both ways; GCM cannot tell more than damage.
    let format = tink(Template::Aes128CtrHmacSha256Of4Kb);
    let text = pattern(format.layout().plaintext_offset(2) as usize);
    let longer = [sealed(&format, &text), vec![0; 100]].concat();
    let (_, error) = open_found(&format, associated_data(&format), &longer, 5000);
    assert!(matches!(error, Some(Error::TrailingData { index: 1 })), "{error:?}");
}
