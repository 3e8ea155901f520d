//! The plaintexts of an index's files. Only a holder of the key can change them, and even then a reader takes nothing that a
//! writer would not make.

use cipherloom::internal::{rewrite_part, rewrite_root};

/// A root that is read says the same when it is written again.
pub(crate) fn index_root(input: &[u8]) {
    if let Some(again) = rewrite_root(input) {
        let (front, zeros) = input.split_at(again.len());
        assert!(front == again && zeros.iter().all(|byte| *byte == 0));
    }
}

/// What a part lists fits into no more bytes, and is the same when that is read again.
pub(crate) fn index_part(input: &[u8]) {
    if let Some(again) = rewrite_part(input) {
        assert!(again.len() <= input.len());
        assert_eq!(rewrite_part(&again), Some(again));
    }
}
