//! Plugins as programs: found in the PATH, asking, failing, crashing and hanging. The plugin is a shell script that speaks the
//! protocol; what it wraps is the file key itself.
#![cfg(unix)]

use cipherloom::age::{AgeFault, Identity, Prompt, Recipient};
use cipherloom::{Error, Format, stream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use std::{env, fs};
use zeroize::Zeroizing;

/// Reads up to `done`, then wraps or unwraps: the stanza's body is the file key, and needs the PIN 1234.
const HONEST: &str = r#"
key= next=
while IFS= read -r line; do
  case "$line" in
    "-> wrap-file-key") next=key ;;
    "-> recipient-stanza 0 shell"*) next=key ;;
    "-> done") break ;;
    *) if [ "$next" = key ]; then key=$line; next=; fi ;;
  esac
done
IFS= read -r line
answer() { IFS= read -r status; IFS= read -r body; }
printf -- '-> msg\ndG91Y2g\n'; answer
if [ "$1" = --age-plugin=recipient-v1 ]; then
  printf -- '-> recipient-stanza 0 shell arg\n%s\n' "$key"; answer
  printf -- '-> labels\n\n'; answer
else
  printf -- '-> request-secret\nUElOPw\n'; answer
  [ "$status $body" = "-> ok MTIzNA" ] || { printf -- '-> error internal\nd3JvbmcgUElO\n'; answer; printf -- '-> done\n\n'; exit; }
  [ -n "$key" ] && { printf -- '-> file-key 0\n%s\n' "$key"; answer; }
fi
printf -- '-> done\n\n'
"#;

const CRASHING: &str = "echo 'no \x1b[31mcard' >&2; exit 3";
const HANGING: &str = "while IFS= read -r line; do :; done; sleep 600";
const BABBLING: &str = "printf 'hello\\n'; cat > /dev/null";

/// A folder with the plugins, first in the PATH of this process.
static PLUGINS: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in
        [("honest", HONEST), ("crashing", CRASHING), ("hanging", HANGING), ("babbling", BABBLING)]
    {
        let path = folder.path().join(format!("age-plugin-{name}"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
});

/// Runs this test's binary again with the plugins in its PATH: a test must not change the environment of its own process.
fn with_plugins(test: &str) -> bool {
    if env::var_os("CIPHERLOOM_TEST_PLUGINS").is_some() {
        return true;
    }
    let path = format!("{}:{}", PLUGINS.path().display(), env::var("PATH").unwrap());
    let output = std::process::Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("PATH", path)
        .env("CIPHERLOOM_TEST_PLUGINS", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{test} ran");
    false
}

struct Person {
    pin: &'static str,
    stopped: AtomicBool,
}

impl Prompt for Person {
    fn show(&self, plugin: &str, message: &str) -> bool {
        (plugin, message) == ("honest", "touch")
    }

    fn ask_secret(&self, plugin: &str, question: &str) -> Option<Zeroizing<String>> {
        assert_eq!((plugin, question), ("honest", "PIN?"));
        Some(Zeroizing::new(self.pin.to_owned()))
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

fn person(pin: &'static str) -> Arc<dyn Prompt> {
    Arc::new(Person { pin, stopped: AtomicBool::new(false) })
}

fn bech32(prefix: &str) -> String {
    use bech32::{Bech32, Hrp};
    let hrp = Hrp::parse(prefix).unwrap();
    match prefix.starts_with("AGE") {
        true => bech32::encode_upper::<Bech32>(hrp, b"x").unwrap(),
        false => bech32::encode_lower::<Bech32>(hrp, b"x").unwrap(),
    }
}

fn recipient(name: &str) -> Recipient {
    Recipient::parse_with(&bech32(&format!("age1{name}")), &person("1234")).unwrap()
}

fn identity(name: &str, prompt: &Arc<dyn Prompt>) -> Identity {
    Identity::parse_with(&bech32(&format!("AGE-PLUGIN-{}-", name.to_uppercase())), prompt).unwrap()
}

fn seal(recipients: Vec<Recipient>) -> Result<Vec<u8>, Error> {
    stream::encrypt_with_format(b"text", &Format::age_for(recipients)?, b"")
}

fn open(sealed: &[u8], identity: Identity) -> Result<Vec<u8>, Error> {
    let format = Format::age_from([identity])?;
    stream::decrypt_with_format(sealed, &format, b"").map(|plaintext| plaintext.to_vec())
}

fn problem(error: &Error) -> String {
    match error {
        Error::Age(AgeFault::Plugin { problem, .. }) => problem.clone(),
        other => panic!("another error: {other:?}"),
    }
}

#[test]
fn a_file_goes_through_a_plugin() {
    if !with_plugins("a_file_goes_through_a_plugin") {
        return;
    }
    let other = Identity::generate().unwrap();
    let sealed = seal(vec![other.recipient(), recipient("honest")]).unwrap();
    assert!(String::from_utf8_lossy(&sealed).contains("\n-> shell arg\n"));
    assert_eq!(open(&sealed, identity("honest", &person("1234"))).unwrap(), b"text");
    assert_eq!(open(&sealed, other).unwrap(), b"text");
    let refused = open(&sealed, identity("honest", &person("0000"))).unwrap_err();
    assert_eq!(problem(&refused), "failed: wrong PIN");
    // An identity encrypts as well as its recipient.
    let sealed = seal(vec![identity("honest", &person("1234")).recipient()]).unwrap();
    assert_eq!(open(&sealed, identity("honest", &person("1234"))).unwrap(), b"text");
    let foreign = seal(vec![Identity::generate().unwrap().recipient()]).unwrap();
    let refused = open(&foreign, identity("honest", &person("1234"))).unwrap_err();
    assert_eq!(refused.to_string(), "no identity matches: the file is encrypted for 1 X25519");
}

#[test]
fn a_tree_goes_through_a_plugin() {
    if !with_plugins("a_tree_goes_through_a_plugin") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("plain")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(path("plain").join(name), name.repeat(70_000)).unwrap();
    }
    let sealed = cipherloom::encrypt(path("plain"), path("sealed")).recipients([recipient("honest")]);
    assert_eq!(sealed.run().unwrap().failed, 0);
    let opened =
        cipherloom::decrypt(path("sealed"), path("opened")).identities([identity("honest", &person("1234"))]);
    assert_eq!(opened.run().unwrap().failed, 0);
    assert_eq!(fs::read(Path::join(&path("opened"), "c")).unwrap(), "c".repeat(70_000).into_bytes());
}

#[test]
fn what_goes_wrong_is_said() {
    if !with_plugins("what_goes_wrong_is_said") {
        return;
    }
    let refused = seal(vec![recipient("missing")]).unwrap_err();
    let expected = "the plugin age-plugin-missing is not installed: no folder of the PATH has it";
    assert_eq!(refused.to_string(), expected);
    let refused = problem(&seal(vec![recipient("crashing")]).unwrap_err());
    assert!(refused.starts_with("ended early (exit status: 3): no \\"), "{refused}");
    assert!(!refused.contains('\x1b'), "{refused:?}");
    let refused = problem(&seal(vec![recipient("babbling")]).unwrap_err());
    assert!(refused.starts_with("does not speak the protocol: "), "{refused}");
}

#[test]
fn a_plugin_that_hangs_is_ended_with_the_run() {
    if !with_plugins("a_plugin_that_hangs_is_ended_with_the_run") {
        return;
    }
    let person = Arc::new(Person { pin: "", stopped: AtomicBool::new(false) });
    let prompt: Arc<dyn Prompt> = person.clone();
    let sealed = seal(vec![Identity::generate().unwrap().recipient()]).unwrap();
    let begun = Instant::now();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        person.stopped.store(true, Ordering::Relaxed);
    });
    assert!(matches!(open(&sealed, identity("hanging", &prompt)), Err(Error::Stopped)));
    stopper.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "it would hang for ten minutes");
}
