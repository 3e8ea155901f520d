//! A build without devices.

use cipherloom::Accelerator;
use cipherloom::machine::DeviceCosts;
use serde::Serialize;

const REMEDY: &str = "this build has no GPU support; one with it is made from the sources by \
                      `cargo --config .cargo/dynamic.toml build --release --features gpu`";

#[expect(dead_code, reason = "the twin's other answer")]
pub enum Refused {
    NoSupport(String),
    Unusable(String),
}

pub fn open(_api: Option<&str>, _name: Option<&str>) -> Result<DeviceCosts, Refused> {
    Err(Refused::NoSupport(REMEDY.to_owned()))
}

pub fn accelerator() -> Option<&'static dyn Accelerator> {
    None
}

pub fn set_idle(_idle: bool) {}

pub fn dismiss() -> Option<String> {
    None
}

/// What `devices` tells of GPUs.
#[derive(Serialize)]
pub struct Listing {
    note: &'static str,
}

impl Listing {
    pub fn look(_validate: bool) -> Listing {
        Listing { note: REMEDY }
    }

    pub fn table(&self) -> String {
        format!("GPUs      {}\n", self.note)
    }
}
