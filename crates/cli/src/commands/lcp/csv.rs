//! CSV files (RFC 4180) with secrets in them: every copy that is made of a field is wiped.

use csv_core::{ReadRecordResult, Reader};
use zeroize::Zeroizing;

/// The most columns of a row.
const MOST_COLUMNS: usize = 256;

/// The rows of a CSV file, one after the other.
pub struct Rows<'c> {
    rest: &'c [u8],
    /// The line that `rest` begins in.
    line: u64,
    reader: Reader,
    /// One row's fields without their quotes, end to end.
    fields: Zeroizing<Vec<u8>>,
    ends: [usize; MOST_COLUMNS],
}

/// A row: the line it begins in, and its fields.
pub struct Row<'r> {
    pub line: u64,
    fields: &'r [u8],
    ends: &'r [usize],
}

impl<'c> Rows<'c> {
    pub fn new(contents: &'c [u8]) -> Rows<'c> {
        let rest = contents.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(contents);
        // No row is longer than the file, so this never grows.
        let fields = Zeroizing::new(vec![0; rest.len() + 1]);
        Rows { rest, line: 1, reader: Reader::new(), fields, ends: [0; MOST_COLUMNS] }
    }

    /// The next row that is not blank.
    ///
    /// # Errors
    /// If it has more columns than any manifest.
    pub fn next_row(&mut self) -> anyhow::Result<Option<Row<'_>>> {
        // The reader leaves the LF of a CR LF for the next row; it is skipped here, so that lines are counted in time.
        let blank = self.rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.skip(blank);
        let line = self.line;
        let (mut filled, mut count) = (0, 0);
        loop {
            let (result, read, written, ended) =
                self.reader.read_record(self.rest, &mut self.fields[filled..], &mut self.ends[count..]);
            self.skip(read);
            filled += written;
            count += ended;
            match result {
                // The rest is empty now, so the last row ends here.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => {
                    let (fields, ends) = (&self.fields[..filled], &self.ends[..count]);
                    return Ok(Some(Row { line, fields, ends }));
                }
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    anyhow::bail!("line {line} has more than {MOST_COLUMNS} columns")
                }
            }
        }
    }
}

impl Rows<'_> {
    fn skip(&mut self, len: usize) {
        let (skipped, rest) = self.rest.split_at(len);
        self.line += skipped.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.rest = rest;
    }
}

impl<'r> Row<'r> {
    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The fields; `None` in the place of one that is no UTF-8.
    pub fn fields(&self) -> impl Iterator<Item = Option<&'r str>> {
        let (fields, mut start) = (self.fields, 0);
        self.ends.iter().map(move |&end| {
            let field = std::str::from_utf8(&fields[start..end]).ok();
            start = end;
            field
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_with_their_lines() {
        let text = b"\xEF\xBB\xBFa,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n,\n\xFF,2";
        let mut rows = Rows::new(text);
        let mut found = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            let fields: Vec<Option<String>> = row.fields().map(|field| field.map(str::to_owned)).collect();
            assert_eq!(fields.len(), row.len());
            found.push((row.line, fields));
        }
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                (1, vec![some("a"), some("b")]),
                (2, vec![some("1"), some("x, \"y\"\nz")]),
                (5, vec![some(""), some("")]),
                (6, vec![None, some("2")]),
            ]
        );
        assert!(Rows::new(",".repeat(MOST_COLUMNS).as_bytes()).next_row().is_err());
        assert!(Rows::new(b"").next_row().unwrap().is_none());
    }
}
