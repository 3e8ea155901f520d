//! One of n shares of a tree, chosen by path: for jobs that several machines divide among themselves without talking.
//!
//! The share of a path is fixed for good, whatever else is in the tree: FNV-1a of 64 bits over the relative path's bytes
//! (`/` between folders), mixed by the finalizer of MurmurHash3 (fmix64) since FNV leaves the high bits of short texts
//! alike, then scaled to n by the high half of the product (D. Lemire, "Fast random integer generation in an interval",
//! 2019).

use crate::Error;
use std::path::Path;
use std::str::FromStr;

/// Share `index` of `count`, counted from 0; written `i/n` with i from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Whether the file at this relative path is in this share.
    #[must_use]
    pub fn takes(self, relative: &Path) -> bool {
        let hash = mix(fnv(relative));
        (u128::from(hash) * u128::from(self.count)) >> 64 == u128::from(self.index)
    }
}

fn fnv(relative: &Path) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (position, component) in relative.components().enumerate() {
        if position > 0 {
            add(b"/");
        }
        add(component.as_os_str().as_encoded_bytes());
    }
    hash
}

fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Shard, Error> {
        let parsed = text.split_once('/').and_then(|(index, count)| {
            let (index, count): (u64, u64) = (index.parse().ok()?, count.parse().ok()?);
            (1..=count).contains(&index).then(|| Shard { index: index - 1, count })
        });
        parsed.ok_or_else(|| Error::Shard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_in_exactly_one_share_and_the_shares_are_alike() {
        let shards: Vec<Shard> = (1..=7).map(|index| format!("{index}/7").parse().unwrap()).collect();
        let mut sizes = [0; 7];
        for number in 0..7000 {
            let path = format!("folder-{}/{number}.txt", number % 10);
            let takers: Vec<usize> = (0..7).filter(|index| shards[*index].takes(Path::new(&path))).collect();
            let [taker] = takers[..] else { panic!("{path} is in {takers:?}") };
            sizes[taker] += 1;
        }
        assert!(sizes.iter().all(|size| (850..1150).contains(size)), "{sizes:?}");
    }

    #[test]
    fn the_share_of_a_path_never_changes() {
        let share = |path: &str| {
            (1..=1000_u64)
                .find(|index| format!("{index}/1000").parse::<Shard>().unwrap().takes(Path::new(path)))
        };
        // FNV-1a of "a" is its published test vector.
        assert_eq!(fnv(Path::new("a")), 0xaf63_dc4c_8601_ec8c);
        assert_eq!([share("a"), share("books/one.epub")].map(Option::unwrap), SHARES);
    }

    const SHARES: [u64; 2] = [511, 271];

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in ["", "1", "0/3", "4/3", "-1/3", "a/b", "1/0", "1/2/3"] {
            assert!(matches!(text.parse::<Shard>(), Err(Error::Shard(said)) if said == text), "{text}");
        }
    }
}
