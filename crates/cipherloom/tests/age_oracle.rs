//! Files of the `age` crate and of this library, each opened by the other.

use age::secrecy::{ExposeSecret, SecretString};
use cipherloom::age::{ArmorReader, ArmorWriter, Identity, NoPrompt, Prompt, Recipient};
use cipherloom::key::Passphrase;
use cipherloom::{Format, stream};
use std::io::{Read, Write};
use std::sync::Arc;

/// Around a chunk's end.
const SIZES: [usize; 6] = [0, 1, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 1 << 20];

const SSH_PASSPHRASE: &[u8] = b"correct horse";

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ (at >> 8) as u8).collect()
}

fn their_seal(recipient: &dyn age::Recipient, plaintext: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let encryptor = age::Encryptor::with_recipients(std::iter::once(recipient)).unwrap();
    let mut writer = encryptor.wrap_output(&mut file).unwrap();
    writer.write_all(plaintext).unwrap();
    writer.finish().unwrap();
    file
}

fn their_open(identity: &dyn age::Identity, file: &[u8]) -> Vec<u8> {
    let mut plaintext = Vec::new();
    let decryptor = age::Decryptor::new(file).unwrap();
    decryptor.decrypt(std::iter::once(identity)).unwrap().read_to_end(&mut plaintext).unwrap();
    plaintext
}

/// Both ways, at every size.
fn exchange(
    seal: &Format,
    open: &Format,
    their_recipient: &dyn age::Recipient,
    their_identity: &dyn age::Identity,
) {
    for size in SIZES {
        let plaintext = text(size);
        let ours = stream::encrypt_with_format(&plaintext, seal, b"").unwrap();
        assert!(their_open(their_identity, &ours) == plaintext, "{seal:?} to age, {size} bytes");
        let theirs = their_seal(their_recipient, &plaintext);
        let opened = stream::decrypt_with_format(&theirs, open, b"").unwrap();
        assert!(*opened == plaintext, "{open:?} from age, {size} bytes");
    }
}

#[test]
fn x25519() {
    let theirs = age::x25519::Identity::generate();
    let identity = Identity::parse(theirs.to_string().expose_secret()).unwrap();
    assert_eq!(identity.recipient().to_string(), theirs.to_public().to_string());
    let recipient = Recipient::parse(&theirs.to_public().to_string()).unwrap();
    let (seal, open) = (Format::age_for([recipient]).unwrap(), Format::age_from([identity]).unwrap());
    exchange(&seal, &open, &theirs.to_public(), &theirs);
}

#[test]
fn passphrase() {
    let secret = SecretString::from("Büro".to_owned());
    let mut theirs = age::scrypt::Recipient::new(secret.clone());
    theirs.set_work_factor(2);
    let passphrase = || Passphrase::new("Büro".as_bytes()).unwrap();
    let recipient = Recipient::from_passphrase(passphrase(), Some(2)).unwrap();
    let identity = Identity::from_passphrase(passphrase(), None).unwrap();
    let format = Format::age([recipient], [identity]).unwrap();
    exchange(&format, &format, &theirs, &age::scrypt::Identity::new(secret));
}

fn ssh(public: &str, private: &str, passphrase: Option<&[u8]>) {
    let prompt: Arc<dyn Prompt> = match passphrase {
        Some(passphrase) => Arc::new(Knows(passphrase.to_vec())),
        None => Arc::new(NoPrompt),
    };
    let identity = Identity::parse_file(private.as_bytes(), &prompt).unwrap();
    let recipient = Recipient::parse(public).unwrap();
    assert_eq!(recipient.to_string(), public.trim());
    let (seal, open) = (Format::age_for([recipient]).unwrap(), Format::age_from(identity).unwrap());
    let theirs = age::ssh::Identity::from_buffer(private.as_bytes(), None).unwrap();
    let theirs = theirs.with_callbacks(Answers);
    let recipient: age::ssh::Recipient = public.parse().unwrap();
    exchange(&seal, &open, &recipient, &theirs);
}

/// A person that knows a passphrase.
struct Knows(Vec<u8>);

impl Prompt for Knows {
    fn ask_passphrase(&self, what: &str) -> Option<Passphrase> {
        assert!(what.starts_with("the SSH key "), "{what}");
        Passphrase::new(&self.0).ok()
    }
}

/// The same person, for the `age` crate.
#[derive(Clone)]
struct Answers;

impl age::Callbacks for Answers {
    fn display_message(&self, _message: &str) {}

    fn confirm(&self, _message: &str, _yes: &str, _no: Option<&str>) -> Option<bool> {
        None
    }

    fn request_public_string(&self, _description: &str) -> Option<String> {
        None
    }

    fn request_passphrase(&self, _description: &str) -> Option<SecretString> {
        Some(SecretString::from(String::from_utf8(SSH_PASSPHRASE.to_vec()).unwrap()))
    }
}

/// Made by ssh-keygen of OpenSSH 9.2 for these tests; they protect nothing.
#[test]
fn ssh_keys() {
    let key = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ssh_keys");
        std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
    };
    for name in ["ed25519", "rsa"] {
        ssh(&key(&format!("{name}.pub")), &key(name), None);
        let locked = format!("{name}-locked");
        ssh(&key(&format!("{locked}.pub")), &key(&locked), Some(SSH_PASSPHRASE));
    }
}

/// The same keys as openssl writes them.
#[test]
fn ssh_keys_in_other_pem_forms() {
    let parse = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ssh_keys");
        let contents = std::fs::read(format!("{folder}/{name}")).unwrap();
        let prompt: Arc<dyn Prompt> = Arc::new(NoPrompt);
        Identity::parse_file(&contents, &prompt)
    };
    for (name, forms) in [("rsa", &["rsa.pkcs1", "rsa.pkcs8"][..]), ("ed25519", &["ed25519.pkcs8"])] {
        let known = parse(name).unwrap();
        let seal = Format::age_for(known.iter().map(Identity::recipient)).unwrap();
        let sealed = stream::encrypt_with_format(b"for either", &seal, b"").unwrap();
        for form in forms {
            let identity = parse(form).unwrap();
            assert_eq!(identity[0].recipient().to_string(), known[0].recipient().to_string(), "{form}");
            let open = Format::age_from(identity).unwrap();
            assert_eq!(*stream::decrypt_with_format(&sealed, &open, b"").unwrap(), b"for either", "{form}");
        }
    }
    for name in ["rsa-locked.pkcs1", "rsa-locked.pkcs8"] {
        let refused = parse(name).unwrap_err().to_string();
        assert!(refused.contains("encrypted in another way"), "{name}: {refused}");
    }
}

#[test]
fn armor() {
    for size in [1, 47, 48, 49, 1000] {
        let file = text(size);
        let mut writer = ArmorWriter::new(Vec::new());
        writer.write_all(&file).unwrap();
        let ours = writer.finish().unwrap();
        let mut writer =
            age::armor::ArmoredWriter::wrap_output(Vec::new(), age::armor::Format::AsciiArmor).unwrap();
        writer.write_all(&file).unwrap();
        let theirs = writer.finish().unwrap();
        assert_eq!(
            String::from_utf8(ours).unwrap().trim(),
            String::from_utf8(theirs.clone()).unwrap().trim()
        );
        let mut read = Vec::new();
        ArmorReader::new(&theirs[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, file);
    }
}

/// An identity file that age encrypted with a passphrase, armored, as `age -p -a` makes it.
#[test]
fn encrypted_identity_files() {
    struct File;
    impl Prompt for File {
        fn ask_passphrase(&self, what: &str) -> Option<Passphrase> {
            assert_eq!(what, "the identity file");
            Passphrase::new(SSH_PASSPHRASE).ok()
        }
    }
    let inner = Identity::generate().unwrap();
    let lines = format!("# mine\n{}\n", *inner.to_secret_text().unwrap());
    let secret = SecretString::from(String::from_utf8(SSH_PASSPHRASE.to_vec()).unwrap());
    let mut recipient = age::scrypt::Recipient::new(secret);
    recipient.set_work_factor(2);
    let binary = their_seal(&recipient, lines.as_bytes());
    let mut writer = ArmorWriter::new(Vec::new());
    writer.write_all(&binary).unwrap();
    for file in [writer.finish().unwrap(), binary] {
        let prompt: Arc<dyn Prompt> = Arc::new(File);
        let identities = Identity::parse_file(&file, &prompt).unwrap();
        assert_eq!(identities.len(), 1);
        assert_eq!(identities[0].recipient().to_string(), inner.recipient().to_string());
        let nobody: Arc<dyn Prompt> = Arc::new(NoPrompt);
        let refused = Identity::parse_file(&file, &nobody).unwrap_err();
        assert_eq!(refused.to_string(), "the identity is encrypted, and its passphrase is not given");
    }
}
