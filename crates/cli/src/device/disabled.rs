//! A build without devices.

use super::REMEDY;
use cipherloom::machine::{Accelerator, DeviceCosts};
use serde::Serialize;

pub fn open(_api: Option<&str>, _name: Option<&str>) -> Result<DeviceCosts, Option<String>> {
    Err(None)
}

pub fn known() -> Vec<DeviceCosts> {
    Vec::new()
}

pub fn accelerator() -> Option<&'static dyn Accelerator> {
    None
}

pub fn set_idle(_idle: bool) {}

pub fn close() -> Option<String> {
    None
}

/// What `devices` shows of GPUs.
#[derive(Serialize)]
pub struct Listing {
    note: String,
}

impl Listing {
    pub fn new(_validate: bool) -> Listing {
        Listing { note: format!("this build has no GPU support; {REMEDY}") }
    }

    pub fn table(&self) -> String {
        format!("GPUs      {}\n", self.note)
    }
}
