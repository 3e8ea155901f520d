//! The rules between crates, read from cargo's own description of the workspace.

use super::Violation;
use crate::chore::Program;
use crate::place;
use anyhow::{Context, Result};
use serde_json::Value;

/// A member of the workspace and the members that it may depend on.
struct Member {
    name: &'static str,
    imports: &'static [&'static str],
}

const MEMBERS: [Member; 8] = [
    Member { name: "cipherloom-kernels", imports: &[] },
    Member { name: "cipherloom-bignum", imports: &[] },
    Member { name: "cipherloom", imports: &["cipherloom-kernels"] },
    Member { name: "cipherloom-gpu", imports: &["cipherloom-kernels"] },
    Member { name: "cipherloom-lcp", imports: &["cipherloom", "cipherloom-kernels"] },
    Member {
        name: "cipherloom-cli",
        imports: &["cipherloom", "cipherloom-gpu", "cipherloom-kernels", "cipherloom-lcp"],
    },
    // Nothing imports the lab or the chores.
    Member {
        name: "cipherloom-lab",
        imports: &["cipherloom", "cipherloom-gpu", "cipherloom-kernels", "cipherloom-bignum"],
    },
    Member { name: "xtask", imports: &[] },
];

/// Workspaces of their own, by manifest, and the members of the main one that they may depend on.
const OUTSIDE: [(&str, Member); 1] = [(
    "bindings/python/Cargo.toml",
    Member { name: "cipherloom-python", imports: &["cipherloom", "cipherloom-kernels"] },
)];

/// Checks the dependencies between the workspace's members, and of those outside on them.
///
/// # Errors
/// If cargo cannot describe the workspace.
pub(crate) fn check() -> Result<Vec<Violation>> {
    let description = Program::cargo()
        .folder(place::root())
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .output()?;
    let mut found = violations(&description)?;
    for (manifest, member) in &OUTSIDE {
        let told = Program::cargo()
            .folder(place::root())
            .args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--manifest-path", manifest])
            .output()?;
        found.extend(outside(&told, manifest, member)?);
    }
    Ok(found)
}

/// What depends on a member by path stands outside of the main workspace, and imports only what is listed for it.
fn outside(description: &str, manifest: &str, member: &Member) -> Result<Vec<Violation>> {
    let description: Value = serde_json::from_str(description).context("cargo metadata is not JSON")?;
    let dependencies = description["packages"][0]["dependencies"].as_array();
    let ours = dependencies.into_iter().flatten().filter(|dependency| dependency["path"].is_string());
    Ok(ours
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|other| !member.imports.contains(other))
        .map(|other| {
            Violation::new(manifest, format!("crate `{}` may not import crate `{other}`", member.name))
        })
        .collect())
}

fn violations(description: &str) -> Result<Vec<Violation>> {
    let description: Value = serde_json::from_str(description).context("cargo metadata is not JSON")?;
    let packages = description["packages"].as_array().context("cargo metadata names no packages")?;
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(member) = MEMBERS.iter().find(|member| member.name == name) else {
            let words = format!(
                "`{name}` is not in the table of crates; decide what it may import in xtask's crates.rs"
            );
            found.push(Violation::new("Cargo.toml", words));
            continue;
        };
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        // A test may use another member (a peer to compare with); what is shipped may not.
        let shipped = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
        for other in shipped.filter_map(|dependency| dependency["name"].as_str()) {
            if names.contains(&other) && !member.imports.contains(&other) {
                let place = package["manifest_path"].as_str().unwrap_or(name);
                found.push(Violation::new(place, format!("crate `{name}` may not import crate `{other}`")));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(members: &[(&str, &[&str])]) -> Vec<String> {
        let packages: Vec<Value> = members
            .iter()
            .map(|(name, imports)| {
                let dependencies: Vec<Value> =
                    imports.iter().map(|other| serde_json::json!({ "name": other, "kind": null })).collect();
                serde_json::json!({ "name": name, "dependencies": dependencies })
            })
            .collect();
        let description = serde_json::json!({ "packages": packages }).to_string();
        violations(&description).unwrap().into_iter().map(|violation| violation.words).collect()
    }

    #[test]
    fn kernels_import_no_member() {
        let found = words(&[("cipherloom-kernels", &["cipherloom", "zeroize"]), ("cipherloom", &[])]);
        assert_eq!(found, ["crate `cipherloom-kernels` may not import crate `cipherloom`"]);
    }

    #[test]
    fn nothing_imports_the_chores() {
        let found =
            words(&[("cipherloom-cli", &["xtask", "cipherloom"]), ("xtask", &[]), ("cipherloom", &[])]);
        assert_eq!(found, ["crate `cipherloom-cli` may not import crate `xtask`"]);
    }

    #[test]
    fn nothing_that_is_shipped_imports_the_lab() {
        let found = words(&[("cipherloom", &["cipherloom-lab"]), ("cipherloom-lab", &["cipherloom"])]);
        assert_eq!(found, ["crate `cipherloom` may not import crate `cipherloom-lab`"]);
    }

    #[test]
    fn bindings_import_product_crates_only() {
        let told = serde_json::json!({ "packages": [{ "dependencies": [
            { "name": "cipherloom", "path": "/crates/cipherloom" },
            { "name": "serde_json", "path": null },
            { "name": "xtask", "path": "/xtask" },
        ] }] });
        let found = outside(&told.to_string(), OUTSIDE[0].0, &OUTSIDE[0].1).unwrap();
        let words: Vec<String> = found.into_iter().map(|violation| violation.words).collect();
        assert_eq!(words, ["crate `cipherloom-python` may not import crate `xtask`"]);
    }

    #[test]
    fn an_unknown_member_needs_a_decision() {
        assert!(words(&[("attic", &[])])[0].contains("`attic` is not in the table"));
    }
}
