//! A device that fails at the worst moment loses nothing: the caller gets the same result as from the CPU.

use super::*;
use crate::circuit::{Circuit, Gates};
use crate::tests::{interpreter, noise};
use cipherloom_kernels::{Aes, Backend, Engine};

/// A device in software that fails after so many starts or finishes.
struct Frail {
    left: usize,
    error: Error,
    masks: Vec<u32>,
    slots: [Option<Vec<u8>>; 3],
}

impl Frail {
    /// With every second number of steps memory runs out at the end; with the others the device is lost.
    fn after(left: usize) -> Frail {
        let device = "frail".to_owned();
        let error = if left.is_multiple_of(2) {
            Error::OutOfMemory { device }
        } else {
            Error::Lost { device, reason: "its turn had come".to_owned() }
        };
        Frail { left, error, masks: Vec::new(), slots: [None, None, None] }
    }

    fn step(&mut self) -> Result<(), Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.error.clone())?;
        Ok(())
    }
}

impl Stages for Frail {
    fn slots(&self) -> usize {
        3
    }

    fn piece_bytes(&self) -> usize {
        16 << 10
    }

    fn set_keys(&mut self, masks: &[u32]) -> Result<(), Error> {
        self.masks = masks.to_vec();
        self.step()
    }

    fn start(&mut self, slot: usize, task: Option<&Task>, text: &[u8]) -> Result<(), Error> {
        self.step()?;
        let task = task.expect("nothing is measured here");
        assert!(self.slots[slot].is_none(), "a slot is taken twice");
        let mut padded = text.to_vec();
        padded.resize(text.len().next_multiple_of(16), 0);
        let words = |bytes: &[u8]| -> Vec<[u32; 4]> {
            let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
            bytes
                .chunks_exact(16)
                .map(|block| std::array::from_fn(|i| word(&block[4 * i..4 * i + 4])))
                .collect()
        };
        let source = match task.mode {
            Mode::Ctr => words(&padded),
            Mode::CbcDecrypt => words(&[&task.chain[..], &padded].concat()),
        };
        let mut sink = vec![[0; 4]; padded.len() / 16];
        let circuit = Circuit::new(task.mode, Gates::Two);
        interpreter::run(&circuit, &self.masks, task.rounds as usize, task.first, &source, &mut sink);
        self.slots[slot] = Some(sink.iter().flatten().flat_map(|word| word.to_le_bytes()).collect());
        Ok(())
    }

    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error> {
        self.step()?;
        let result = self.slots[slot].take().expect("a slot that was started");
        text.copy_from_slice(&result[..text.len()]);
        Ok(())
    }

    fn wipe(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn kernel_seconds(&mut self, _bytes: usize) -> Result<f64, Error> {
        Ok(1.0)
    }
}

#[test]
fn a_device_that_fails_at_any_step_leaves_the_rest_to_the_cpu() {
    let key = noise(24);
    let cpu = Aes::new(&key, Backend::Soft).unwrap();
    let text = noise(5 * (16 << 10) + 32);
    for left in 0..=13 {
        let frail = Frail::after(left);
        let device: &'static Staged<Frail> = Box::leak(Box::new(Staged::new("frail".to_owned(), frail)));
        let both = Aes::new(&key, Engine::with_accelerator(Backend::Soft, device)).unwrap();

        let (mut expected, mut got) = (text.clone(), text.clone());
        let length = text.len() - 5;
        cpu.ctr_xor(&[0xff; 16], 3, &mut expected[..length]);
        both.ctr_xor(&[0xff; 16], 3, &mut got[..length]);
        assert!(got == expected, "CTR, lost after {left}");
        // Keys, six starts, six finishes.
        assert_eq!(device.fault().is_some(), left < 13, "{left}");

        let (mut expected, mut got) = (text.clone(), text.clone());
        let (mut chain, mut chain_too) = ([9; 16], [9; 16]);
        cpu.cbc_decrypt(&mut chain, &mut expected);
        both.cbc_decrypt(&mut chain_too, &mut got);
        assert!(got == expected && chain == chain_too, "CBC, lost after {left}");
    }
    for left in 0..=13 {
        let frail = Frail::after(left);
        let device: &'static Staged<Frail> = Box::leak(Box::new(Staged::new("frail".to_owned(), frail)));
        let both = Aes::new(&key, Engine::with_accelerator(Backend::Soft, device)).unwrap();
        let (mut expected, mut got) = (text.clone(), text.clone());
        let (mut chain, mut chain_too) = ([9; 16], [9; 16]);
        cpu.cbc_decrypt(&mut chain, &mut expected);
        both.cbc_decrypt(&mut chain_too, &mut got);
        assert!(got == expected && chain == chain_too, "CBC, lost after {left}");
    }
}

#[test]
fn counters_that_leave_their_stretch_are_cut_there() {
    let key = noise(16);
    let cpu = Aes::new(&key, Backend::Soft).unwrap();
    let stretch = crate::circuit::counter::STRETCH_BLOCKS;
    // At the end of a piece, in the middle of one, and across the end of the counters themselves.
    for first in [7 * stretch - 1024, (1 << 64) - 1500, u128::MAX - 99] {
        let staged = Staged::new("frail".to_owned(), Frail::after(1000));
        let text = noise(3 * (16 << 10) + 9);
        let (mut expected, mut got) = (text.clone(), text);
        cpu.ctr_xor(&first.to_be_bytes(), 0, &mut expected);
        assert_eq!(staged.ctr_xor(&crate::self_test::round_keys(&key), first, &mut got), got.len());
        assert!(got == expected, "{first:#x}");
    }
}

#[test]
fn small_pieces_and_idle_devices_are_left_alone() {
    let frail = Frail::after(100);
    let device = Staged::new("frail".to_owned(), frail);
    let keys = [[0; 16]; 11];
    assert_eq!(device.ctr_xor(&keys, 0, &mut [0; 1000]), 0);
    assert_eq!(device.ctr_xor(&keys, 0, &mut vec![0; 40_000]), 40_000);
    device.set_idle(true);
    assert_eq!(device.ctr_xor(&keys, 0, &mut vec![0; 40_000]), 0);
    assert!(device.fault().is_none());
}
