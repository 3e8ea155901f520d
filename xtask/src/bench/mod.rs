//! `cargo xtask bench`: the command beside its peers on this machine.
#[derive(clap::Args)]
pub(crate) struct Options {}
pub(crate) fn run(_: &Options) -> anyhow::Result<()> {
    Ok(())
}
