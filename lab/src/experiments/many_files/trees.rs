//! Folders of files to encrypt, and what an independent implementation makes of them: CBC over the `aes` crate, with the
//! published program's key and initialisation vector.

use crate::measure::Random;
use crate::record::Oracle;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit, array::Array};
use anyhow::Context as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Who says what is right.
pub(super) const ORACLE: Oracle = Oracle("RustCrypto aes 0.9, CBC written out");

pub(super) const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
pub(super) const VECTOR: [u8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// A folder of files, the folder that outputs go to, and what they must be.
pub(super) struct Tree {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    pub(super) count: usize,
    pub(super) bytes: u64,
    /// Bytes of each file; 0 if they differ.
    pub(super) file_bytes: usize,
    /// All files one after the other, by name.
    pub(super) content: Rc<[u8]>,
    /// What they must become: encrypted, or decrypted where they are ciphertext, each by itself.
    pub(super) expected: Rc<[u8]>,
}

impl Tree {
    /// So many files of so many bytes.
    pub(super) fn even(scratch: &Path, count: usize, bytes: usize) -> anyhow::Result<Tree> {
        Tree::new(scratch, &vec![bytes; count], bytes)
    }

    /// Files of 1 KB to 1 MB, evenly on a logarithmic scale, in random order of name.
    pub(super) fn uneven(scratch: &Path, count: usize) -> anyhow::Result<Tree> {
        let mut sizes: Vec<usize> = (0..count)
            .map(|index| (1024.0 * 1024_f64.powf(index as f64 / (count - 1) as f64)) as usize)
            .collect();
        Random::new(4).shuffle(&mut sizes);
        Tree::new(scratch, &sizes, 0)
    }

    /// What this tree of even files becomes, to be decrypted again.
    pub(super) fn encrypted(&self) -> anyhow::Result<Tree> {
        let of_encrypted = |path: &Path| path.with_extension("encrypted");
        let (source, target) = (of_encrypted(&self.source), of_encrypted(&self.target));
        write_files(&source, &vec![self.expected.len() / self.count; self.count], &self.expected)?;
        let (content, expected) = (Rc::clone(&self.expected), Rc::clone(&self.content));
        // The same bytes of work as in the other direction.
        Ok(Tree { source, target, content, expected, ..*self })
    }

    fn new(scratch: &Path, sizes: &[usize], file_bytes: usize) -> anyhow::Result<Tree> {
        let total: usize = sizes.iter().sum();
        let name = format!("{}x{file_bytes}-{total}", sizes.len());
        let (source, target) =
            (scratch.join(format!("source-{name}")), scratch.join(format!("target-{name}")));
        let plain = Random::bytes(total as u64, total);
        write_files(&source, sizes, &plain)?;
        let mut encrypted = Vec::with_capacity(total + 16 * sizes.len());
        let cipher = Aes128::new(&Array(KEY));
        let mut rest = &plain[..];
        for &size in sizes {
            let (content, after) = rest.split_at(size);
            rest = after;
            encrypt(&cipher, content, &mut encrypted);
        }
        Ok(Tree {
            source,
            target,
            count: sizes.len(),
            bytes: total as u64,
            file_bytes,
            content: plain.into(),
            expected: encrypted.into(),
        })
    }
}

/// Outputs fill memory, which the next tree needs.
impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.target);
        let _ = fs::remove_dir_all(&self.source);
    }
}

/// Makes files of these sizes in a folder, which together are `content`.
fn write_files(folder: &Path, sizes: &[usize], content: &[u8]) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut rest = content;
    for (index, &size) in sizes.iter().enumerate() {
        let (content, after) = rest.split_at(size);
        rest = after;
        let path = folder.join(format!("file-{index:05}"));
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// CBC (SP 800-38A, section 6.2) with the padding of PKCS #7 (RFC 5652, section 6.3).
fn encrypt(cipher: &Aes128, plain: &[u8], out: &mut Vec<u8>) {
    let mut chain = VECTOR;
    let padding = 16 - plain.len() % 16;
    let mut block_of = |block: &[u8; 16]| {
        chain.iter_mut().zip(block).for_each(|(chain, plain)| *chain ^= plain);
        let mut state = Array(chain);
        cipher.encrypt_block(&mut state);
        chain = state.0;
        out.extend_from_slice(&chain);
    };
    let (blocks, rest) = plain.as_chunks::<16>();
    blocks.iter().for_each(&mut block_of);
    let mut last = [padding as u8; 16];
    last[..rest.len()].copy_from_slice(rest);
    block_of(&last);
}

/// Every file of a folder one after the other, by name.
pub(super) fn content(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        listed.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.extend(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_gives_nist_s_answer() {
        // SP 800-38A, F.2.1, first block, by way of the chain: its vector is not ours, so that plain text takes the
        // difference.
        let key =
            [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];
        let text =
            [0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a];
        let plain: Vec<u8> = (0..16).map(|at| text[at] ^ at as u8 ^ VECTOR[at]).collect();
        let mut out = Vec::new();
        encrypt(&Aes128::new(&Array(key)), &plain, &mut out);
        assert_eq!(out.len(), 32, "a full block of padding follows");
        assert_eq!(out[..4], [0x76, 0x49, 0xab, 0xac]);
    }

    #[test]
    fn uneven_files_are_uneven_and_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::uneven(folder.path(), 10).unwrap();
        assert_eq!(content(&tree.source).unwrap(), tree.content.to_vec());
        assert!(tree.source.join("file-00000").is_file());
        drop(tree);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
