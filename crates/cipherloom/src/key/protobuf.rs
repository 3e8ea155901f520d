//! The few rules of protobuf's wire format that two small messages need.
//!
//! Follows <https://protobuf.dev/programming-guides/encoding/>: a message is a sequence of fields, each a tag and a
//! value. Fields that the reader does not know, and known ones with another wire type, are skipped; of a repeated
//! scalar the last one counts. Damaged input (a cut varint, a length beyond the end, an unmatched group) is refused.
//!
//! ```text
//! tag = varint(field number << 3 | wire type)
//! wire type 0: varint    1: 8 bytes    2: varint length, then that many bytes    3 … 4: group    5: 4 bytes
//! ```

use zeroize::Zeroizing;

/// How deep unknown groups may nest; protobuf's own readers stop at 100.
const GROUP_DEPTH: u32 = 100;

/// The input is not protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// One field's value; groups are skipped and never shown.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Eight or four bytes: no field of ours has such a type.
    Fixed,
}

/// Calls `field` with every field of `message`, in order.
pub(super) fn read(mut message: &[u8], mut field: impl FnMut(u32, Value<'_>)) -> Result<(), Malformed> {
    while !message.is_empty() {
        let (number, wire_type) = take_tag(&mut message)?;
        match wire_type {
            3 => skip_group(&mut message, number, GROUP_DEPTH)?,
            _ => field(number, take_value(&mut message, wire_type)?),
        }
    }
    Ok(())
}

fn take_tag(input: &mut &[u8]) -> Result<(u32, u8), Malformed> {
    let tag = u32::try_from(take_varint(input)?).map_err(|_| Malformed)?;
    match tag >> 3 {
        0 => Err(Malformed),
        number => Ok((number, (tag & 7) as u8)),
    }
}

fn take_value<'a>(input: &mut &'a [u8], wire_type: u8) -> Result<Value<'a>, Malformed> {
    match wire_type {
        0 => take_varint(input).map(Value::Varint),
        1 => take(input, 8).map(|_| Value::Fixed),
        2 => {
            let length = usize::try_from(take_varint(input)?).map_err(|_| Malformed)?;
            take(input, length).map(Value::Bytes)
        }
        5 => take(input, 4).map(|_| Value::Fixed),
        _ => Err(Malformed),
    }
}

fn skip_group(input: &mut &[u8], group: u32, depth: u32) -> Result<(), Malformed> {
    loop {
        let (number, wire_type) = take_tag(input)?;
        match wire_type {
            3 if depth > 1 => skip_group(input, number, depth - 1)?,
            4 if number == group => return Ok(()),
            _ => {
                take_value(input, wire_type)?;
            }
        }
    }
}

fn take_varint(input: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0u64;
    for position in 0..10 {
        let byte = take(input, 1)?[0];
        // The tenth byte carries the one bit that is left of 64.
        if position == 9 && byte > 1 {
            return Err(Malformed);
        }
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, rest) = input.split_at_checked(length).ok_or(Malformed)?;
    *input = rest;
    Ok(taken)
}

/// Builds a message. Its capacity is fixed at the start, so that no growth leaves key bytes behind in freed memory.
pub(super) struct Writer {
    bytes: Zeroizing<Vec<u8>>,
}

impl Writer {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Zeroizing::new(Vec::with_capacity(capacity)) }
    }

    /// A varint field; 0 is proto3's default and is left out.
    pub(super) fn varint(&mut self, number: u32, value: u32) {
        if value != 0 {
            self.put_varint(number << 3);
            self.put_varint(value);
        }
    }

    /// A bytes or message field.
    pub(super) fn bytes(&mut self, number: u32, value: &[u8]) {
        self.put_varint(number << 3 | 2);
        self.put_varint(value.len() as u32);
        assert!(
            self.bytes.capacity() - self.bytes.len() >= value.len(),
            "the capacity was counted beforehand"
        );
        self.bytes.extend_from_slice(value);
    }

    pub(super) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.bytes
    }

    fn put_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(message: &[u8]) -> Result<Vec<(u32, String)>, Malformed> {
        let mut seen = Vec::new();
        read(message, |number, value| {
            seen.push((
                number,
                match value {
                    Value::Varint(value) => format!("varint {value}"),
                    Value::Bytes(bytes) => format!("bytes {bytes:?}"),
                    Value::Fixed => "fixed".to_owned(),
                },
            ));
        })?;
        Ok(seen)
    }

    #[test]
    fn reads_each_wire_type() {
        // 150 is the encoding guide's own example: field 1, varint 0x96 0x01.
        assert_eq!(fields(&[0x08, 0x96, 0x01]).unwrap(), [(1, "varint 150".to_owned())]);
        assert_eq!(fields(&[0x12, 2, 7, 8]).unwrap(), [(2, "bytes [7, 8]".to_owned())]);
        assert_eq!(fields(&[0x1d, 1, 2, 3, 4]).unwrap(), [(3, "fixed".to_owned())]);
        assert_eq!(fields(&[0x21, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap(), [(4, "fixed".to_owned())]);
        assert_eq!(fields(&[]).unwrap(), []);
    }

    #[test]
    fn skips_groups_even_nested() {
        // group 5 { group 6 { field 1: 1 } field 2: "x" }, then field 1: 2
        let message = [0x2b, 0x33, 0x08, 1, 0x34, 0x12, 1, b'x', 0x2c, 0x08, 2];
        assert_eq!(fields(&message).unwrap(), [(1, "varint 2".to_owned())]);
    }

    #[test]
    fn refuses_damage() {
        let damaged: &[&[u8]] = &[
            &[0x08],                                                                  // no value
            &[0x08, 0x80],                                                            // cut varint
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],      // 65 bits
            &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x0], // eleven bytes
            &[0x00, 0x00],                                                            // field number 0
            &[0x12, 3, 1, 2],                                                         // length beyond the end
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],      // a huge length
            &[0x2b, 0x08, 1],                                                         // group without end
            &[0x2b, 0x34], // group ended by another
            &[0x2c],       // end without group
            &[0x0e],       // wire type 6
        ];
        for message in damaged {
            assert_eq!(fields(message), Err(Malformed), "{message:?}");
        }
        assert_eq!(fields(&[0x2b; 4000]), Err(Malformed));
    }

    #[test]
    fn writer_leaves_out_defaults() {
        let mut writer = Writer::with_capacity(16);
        writer.varint(1, 0);
        writer.varint(2, 300);
        writer.bytes(3, b"ab");
        assert_eq!(writer.finish().as_slice(), [0x10, 0xac, 0x02, 0x1a, 2, b'a', b'b']);
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused(message in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = fields(&message);
        }

        #[test]
        fn written_is_read(number in 1u32..1000, value in 1u32.., bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut writer = Writer::with_capacity(400);
            writer.varint(number, value);
            writer.bytes(number + 1, &bytes);
            prop_assert_eq!(
                fields(&writer.finish()).unwrap(),
                vec![(number, format!("varint {value}")), (number + 1, format!("bytes {bytes:?}"))]
            );
        }
    }
}
