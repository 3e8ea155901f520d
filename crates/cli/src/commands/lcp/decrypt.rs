//! `cipherloom lcp decrypt`: a protected publication becomes the one that was protected.

use super::secrets;
use crate::arguments::{IfExistsArgument, LcpDecryptArguments};
use crate::escape::JsonPath;
use crate::exit_code::{self, ExitCode};
use crate::interrupt::Interrupt;
use crate::output;
use cipherloom_lcp::{Class, Decrypt, Error};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Instant;

const UNCONFIRMED: &str = "who confirms the certificate (--root-ca FILE)";

pub fn run(arguments: &LcpDecryptArguments) -> anyhow::Result<ExitCode> {
    let how = Decrypt {
        licence: secrets::licence(arguments.license.as_deref())?,
        roots: secrets::roots(arguments.root_ca.as_deref())?,
        user_key: secrets::user_key(arguments.passphrase_file.as_deref())?,
        if_exists: arguments.if_exists.into(),
    };
    let is_confirmed = how.roots.is_some();
    let (source, target) = (&arguments.publication, &arguments.out);
    let start = Instant::now();
    let interrupt = Interrupt::listen();
    let workers = arguments.running.workers();
    let result = cipherloom_lcp::decrypt_unless(source, target, &how, workers, &|| interrupt.is_raised());
    let seconds = start.elapsed().as_secs_f64();
    let running = &arguments.running;
    match result {
        Ok(decrypted) => {
            if running.json {
                output::print_json(&json!({
                    "event": "done", "source": JsonPath(source), "output": JsonPath(target),
                    "resources": decrypted.resources, "bytes": decrypted.bytes,
                    "unchecked": if is_confirmed { vec![] } else { vec![UNCONFIRMED] },
                }))?;
            } else if !running.quiet {
                output::tell(format_args!(
                    "decrypted {}, {} in {}",
                    output::count(decrypted.resources as u64, "resource"),
                    output::size(decrypted.bytes),
                    output::duration(seconds)
                ));
                if !is_confirmed {
                    output::tell(format_args!("  not checked: {UNCONFIRMED}"));
                }
            }
            Ok(ExitCode::Success)
        }
        Err(problems)
            if arguments.if_exists == IfExistsArgument::Skip
                && is_there(&problems)
                && super::is_output(target) =>
        {
            super::told_skipped(target, running)?;
            Ok(ExitCode::Success)
        }
        Err(problems) => {
            interrupt.check("nothing was written")?;
            let mut code = ExitCode::Failure;
            // Every worker meets a full disk.
            let mut told = BTreeSet::new();
            for problem in problems.iter().filter(|problem| told.insert(problem.to_string())) {
                let path = if matches!(problem, Error::Library(_)) { target } else { source };
                if running.json {
                    let line =
                        json!({ "event": "failed", "source": JsonPath(path), "error": problem.to_string() });
                    output::print_json(&line)?;
                } else {
                    output::tell(format_args!("cipherloom: {}: {problem}", output::printable(path)));
                }
                if code != ExitCode::Unauthentic || problem.class() == Class::Authentication {
                    code = exit_code::of_class(problem.class());
                }
            }
            Ok(code)
        }
    }
}

fn is_there(problems: &[Error]) -> bool {
    matches!(problems, [Error::Library(cipherloom::Error::OutputExists)])
}
