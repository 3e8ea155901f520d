//! An encrypted file read segment by segment: what a reader with one buffer does.

use cipherloom::key::{Keyset, Template};
use cipherloom::{Backend, Format, Job, SealedFile, Unobserved, Work, translate_to_file};

#[test]
fn segments_follow_each_other_and_hold_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let keyset = Keyset::generate(Template::Aes128GcmHkdf4Kb).unwrap();
    let format = Format::tink(keyset, Backend::best()).unwrap();
    for length in [0, 1, 4056, 4057, 20_000] {
        let text: Vec<u8> = (0..length).map(|position| (position % 251) as u8).collect();
        let path = folder.path().join(length.to_string());
        let job = Job::new(Work::Encrypt(&format), None);
        translate_to_file(&job, &mut &text[..], &path, &Unobserved).unwrap();
        let file = SealedFile::open(&path, &format, b"").unwrap();
        let mut read = Vec::new();
        while (read.len() as u64) < file.len() {
            let (start, plaintext) = file.read_segment_at(read.len() as u64).unwrap();
            assert_eq!(start, read.len() as u64, "{length}");
            assert!(!plaintext.is_empty(), "{length}");
            let middle = file.read_segment_at(start + plaintext.len() as u64 / 2).unwrap();
            assert_eq!(middle, (start, plaintext.clone()), "{length}");
            read.extend_from_slice(&plaintext);
        }
        assert!(read == text, "{length}");
        for beyond in [file.len(), file.len() + 1, u64::MAX] {
            let (start, plaintext) = file.read_segment_at(beyond).unwrap();
            assert!(start == file.len() && plaintext.is_empty(), "{length}, {beyond}");
        }
    }
}
