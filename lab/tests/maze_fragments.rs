//! The text of WebGL is made of the same shader as everybody's: the committed one is what naga makes of it. To renew it, run this
//! test with `CIPHERLOOM_LAB_RENEW=1`.
#![cfg(feature = "gpu")]

use naga::back::glsl::{Options, PipelineOptions, Version, Writer};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::path::Path;

#[test]
fn the_text_of_webgl_is_made_of_the_shader() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/maze");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let source = ["cells.wgsl", "branches.wgsl", "selects.wgsl", "fragments.wgsl"].map(read).concat();
    let module = naga::front::wgsl::parse_str(&source).unwrap();
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).unwrap();
    let options =
        Options { version: Version::Embedded { version: 300, is_webgl: true }, ..Options::default() };
    let stage = PipelineOptions {
        shader_stage: naga::ShaderStage::Fragment,
        entry_point: "make_cell".to_owned(),
        multiview: None,
    };
    let mut made = String::new();
    Writer::new(&mut made, &module, &info, &options, &stage, Default::default()).unwrap().write().unwrap();
    let made = format!("{}\n", made.trim_end());
    let path = folder.join("fragments.glsl");
    if std::env::var_os("CIPHERLOOM_LAB_RENEW").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == made, "{} is out of date", path.display());
}
