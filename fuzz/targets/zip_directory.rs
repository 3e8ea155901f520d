#![no_main]
//! Any file as a publication: its directory is read or refused, every entry that it lists can be read or is refused, and
//! no entry gives more than it promised.

use cipherloom_lcp::Protection;
use cipherloom_lcp::container::{Archive, Source};
use libfuzzer_sys::fuzz_target;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;

fuzz_target!(|data: &[u8]| {
    let mut file = File::from(memfd_create("publication", MemfdFlags::CLOEXEC).expect("memory"));
    file.write_all(data).expect("memory");
    let Ok(archive) = Archive::read(Source::of(file).expect("a file")) else { return };
    for entry in archive.entries() {
        assert!(!entry.name.contains("..") || !entry.name.split('/').any(|part| part == ".."));
        assert!(entry.compressed_len <= data.len() as u64);
        let mut given = 0;
        let whole = archive.read_to(entry, &mut |bytes| {
            given += bytes.len() as u64;
            Ok(())
        });
        assert!(given <= entry.len + (64 << 10), "{given} of {}", entry.len);
        assert!(whole.is_err() || given == entry.len);
    }
    if let Ok(protection) = Protection::read(&archive) {
        assert!(protection.resources.iter().all(|resource| resource.entry < archive.entries().len()));
    }
});
