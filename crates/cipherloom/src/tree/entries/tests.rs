use super::*;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

#[test]
fn a_record_is_small() {
    assert_eq!(size_of::<Record>(), 32);
}

fn any_time() -> impl Strategy<Value = Option<SystemTime>> {
    let seconds = prop_oneof![0..1_u64 << 33, Just(u64::from(u32::MAX)), Just(0)];
    let time =
        (any::<bool>(), seconds, 0..1_000_000_000_u32).prop_map(|(is_before, seconds, nanoseconds)| {
            let since = Duration::new(seconds, nanoseconds);
            if is_before { UNIX_EPOCH - since } else { UNIX_EPOCH + since }
        });
    proptest::option::of(time)
}

fn any_attributes() -> impl Strategy<Value = Attributes> {
    let number = || prop_oneof![0..3_u64, any::<u64>(), (0..200_u64).prop_map(|high| high << 32 | 7)];
    let inode = (number(), number()).prop_map(|(device, number)| Inode { device, number });
    let changed = proptest::option::of((any::<i64>(), any::<i64>()));
    let changed = prop_oneof![changed, Just(Some((1_700_000_000, 999_999_999)))];
    (any::<u32>(), any_time(), changed, proptest::option::of(inode), any::<bool>()).prop_map(
        |(mode, modified, changed, inode, has_other_names)| Attributes {
            permissions: Permissions::from_mode(mode),
            modified,
            changed,
            inode,
            has_other_names,
        },
    )
}

proptest! {
    /// Whatever the numbers are: what comes out is what was put in.
    #[test]
    fn nothing_is_lost(
        files in proptest::collection::vec(
            (0..3_u32, ".{0,9}", prop_oneof![0..9_u64, any::<u64>()], any_attributes()),
            0..99,
        ),
    ) {
        let mut entries = EntryList::default();
        for (directory, name, size, attributes) in &files {
            entries.push(*directory, OsStr::new(name), *size, attributes);
        }
        prop_assert_eq!((entries.len(), entries.is_empty()), (files.len(), files.is_empty()));
        for (entry, (directory, name, size, attributes)) in entries.iter().zip(&files) {
            prop_assert_eq!((entry.directory(), entry.size()), (*directory, *size));
            prop_assert_eq!(entry.name(), OsStr::new(name));
            prop_assert_eq!(format!("{:?}", entry.attributes()), format!("{attributes:?}"));
        }
        let runs: Vec<u32> =
            entries.runs().flat_map(|(files, directory)| files.map(move |_| directory)).collect();
        prop_assert_eq!(runs, files.iter().map(|file| file.0).collect::<Vec<_>>());
        let by_folder = entries.by_folder();
        for folder in 0..4 {
            let those = (0..).zip(&files).filter(|(_, file)| file.0 == folder).map(|(index, _)| index);
            prop_assert_eq!(by_folder.of(folder).collect::<Vec<u32>>(), those.collect::<Vec<u32>>());
        }
    }
}

#[test]
fn entries_of_several_chunks_follow_each_other() {
    let mut entries = EntryList::default();
    let attributes = Attributes::of_object(false).unwrap();
    for number in 0..2 * CHUNK + 7 {
        entries.push(number as u32 / 1000, OsStr::new(&number.to_string()), number as u64, &attributes);
    }
    assert_eq!(entries.len(), 2 * CHUNK + 7);
    for (number, entry) in entries.iter().enumerate() {
        assert_eq!((entry.size(), entry.directory()), (number as u64, number as u32 / 1000));
        assert_eq!(entry.name(), OsStr::new(&number.to_string()));
    }
    let by_folder = entries.by_folder();
    assert!(by_folder.of(3).eq(3000..4000));
    assert_eq!((by_folder.of(8).count(), by_folder.of(9).count()), (199, 0));
    assert!(entries.first().is_some_and(|first| first.name() == "0"));
}

/// The record has a number of one byte for a device and half of an inode's number.
#[test]
fn inodes_of_many_devices_are_kept() {
    let mut entries = EntryList::default();
    let inode = |number: u64| Inode { device: number / 2, number: number << 32 | 5 };
    for number in 0..300 {
        let attributes = Attributes { inode: Some(inode(number)), ..Attributes::of_object(false).unwrap() };
        entries.push(0, OsStr::new("file"), 0, &attributes);
    }
    for (entry, number) in entries.iter().zip(0..) {
        assert_eq!(entry.attributes().inode, Some(inode(number)));
    }
}
