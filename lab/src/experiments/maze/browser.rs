//! The published form in a browser: WebGL 2 in a headless Chromium, which asks this program what to do next and tells it what came
//! out and how long it took.
//!
//! ```text
//! page -> POST /told BODY    what the last order gave: nanoseconds as a double, and the cells that were asked for
//!      <- an order as JSON
//! page -> POST /cells        the cells to begin with
//! ```

use super::automaton::Rule;
use super::contestants::entrant;
use super::stages::{Part, Stage, bytes};
use crate::experiments::{Context, Findings};
use crate::measure::{Contestant, Entrant};
use crate::record::Sample;
use anyhow::{Context as _, bail, ensure};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is served: address, type and text.
const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html", include_str!("page.html")),
    ("/fragments.js", "text/javascript", include_str!("../../../web/src/fragments.js")),
    ("/fragments.glsl", "text/plain", include_str!("../../../shaders/maze/fragments.glsl")),
];

/// Programs that are looked for, unless `CHROMIUM` names one.
const PROGRAMS: [&str; 4] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/opt/google/chrome/chrome"];

/// A browser that does not answer for so long has ended.
const PATIENCE: Duration = Duration::from_secs(300);

/// The forms: variant, form of the rule, precision of whole numbers, and whether the processor makes the random numbers.
const VARIANTS: [(&str, &str, &str, bool); 5] = [
    ("branches", "branches", "highp", false),
    ("selects", "selects", "highp", false),
    ("branches, mediump", "branches", "mediump", false),
    ("branches, lowp", "branches", "lowp", false),
    (BY_PROCESSOR, "branches", "highp", true),
];
pub(super) const BY_PROCESSOR: &str = "branches, random numbers from the processor";

/// In a quick run the life of no larger maze is followed.
const QUICK_MOST_SIDE: u32 = 129;

/// Larger mazes are left to the two forms alone.
const MOST_VARIED: u32 = 257;

/// The running browser, with its page open.
pub(super) struct Browser {
    name: String,
    /// The largest side whose life is followed.
    most_side: u32,
    link: Rc<RefCell<Link>>,
}

impl Browser {
    /// Starts it; what it lacks is noted.
    pub(super) fn open(context: &Context, findings: &mut Findings) -> Option<Browser> {
        match Browser::start(&context.scratch) {
            Ok((mut browser, told)) => {
                browser.most_side = context.by_extent(QUICK_MOST_SIDE, u32::MAX);
                findings.versions.insert(browser.name.clone(), told);
                Some(browser)
            }
            Err(reason) => {
                findings.notes.push(format!("no WebGL 2: {reason:#}"));
                None
            }
        }
    }

    fn start(scratch: &Path) -> anyhow::Result<(Browser, String)> {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        let program = named.or_else(|| PROGRAMS.iter().map(PathBuf::from).find(|program| program.is_file()));
        let program =
            program.context("no Chromium is here; install Debian's chromium, or name one in CHROMIUM")?;
        let listener =
            TcpListener::bind("127.0.0.1:0").context("cannot listen on this machine's own address")?;
        let address = format!("http://{}/", listener.local_addr()?);
        let (told, answers) = channel();
        let (orders, next) = channel::<String>();
        let cells = Arc::new(Mutex::new(Vec::new()));
        let site = Arc::new(Site { told, next: Mutex::new(next), cells: Arc::clone(&cells) });
        // They end with the process: nobody connects any more when the browser is gone.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = Arc::clone(&site);
                std::thread::spawn(move || site.serve(stream));
            }
        });
        // Whatever ends this process closes the shell's input, and that ends the browser; which may have written to the folder after
        // a signal removed it.
        const UNTIL_CLOSED: &str =
            r#""$@" & read -r _; kill -KILL $!; wait; rm -rf "$0/chromium"; rmdir "$0""#;
        let child = Command::new("sh")
            .args(["-c", UNTIL_CLOSED])
            .args([scratch, &program])
            .args(["--headless", "--no-first-run", "--no-sandbox", "--disable-dev-shm-usage"])
            .args(["--enable-unsafe-swiftshader", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", scratch.join("chromium").display()))
            .arg(address)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut link = Link { child, orders, answers, cells };
        let told = link.answer()?;
        let told: serde_json::Value = serde_json::from_slice(&told).context("the page tells no JSON")?;
        let field = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        let name = format!("WebGL 2 ({})", device_of(&field("name")));
        let words = format!(
            "{}, {}, {}, {}, textures of {} a side, bits of whole numbers {}",
            field("name"),
            field("vendor"),
            field("api"),
            field("language"),
            told["largestTexture"],
            told["bits"]
        );
        Ok((Browser { name, most_side: u32::MAX, link: Rc::new(RefCell::new(link)) }, words))
    }

    /// Those that take part in this stage.
    pub(super) fn entrants(&self, stage: &Rc<Stage>) -> Vec<Entrant<'static>> {
        // A whole life of dots has tens of thousands of frames.
        let is_left_out = match stage.part {
            Part::WithDots(_) => false,
            Part::Whole if stage.rule == Rule::Dots => true,
            _ => stage.setting.width > self.most_side,
        };
        if is_left_out {
            return Vec::new();
        }
        let is_varied = stage.setting.width <= MOST_VARIED && stage.part == Part::Of(1);
        let chosen = VARIANTS.iter().filter(|variant| is_varied || VARIANTS[..2].contains(variant));
        let entrants = chosen.map(|&(variant, form, precision, by_processor)| {
            let (stage, link) = (Rc::clone(stage), Rc::clone(&self.link));
            let in_browser = InBrowser { stage: Rc::clone(&stage), link, form, precision, by_processor };
            entrant(&stage, &self.name, variant, Box::new(in_browser))
        });
        entrants.collect()
    }
}

/// The device in what a browser calls it: `ANGLE (vendor, device with its number, driver)`.
fn device_of(told: &str) -> &str {
    if told.contains("SwiftShader") {
        return "SwiftShader";
    }
    let device = told.strip_prefix("ANGLE (").and_then(|parts| parts.split(", ").nth(1));
    device.map_or(told, |device| device.split(" (0x").next().unwrap_or(device))
}

/// What the page's requests are answered from.
struct Site {
    told: Sender<Vec<u8>>,
    next: Mutex<Receiver<String>>,
    cells: Arc<Mutex<Vec<u8>>>,
}

impl Site {
    /// One request. Who goes away is not waited for.
    fn serve(&self, stream: TcpStream) {
        let _ = self.answer(stream);
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(&stream);
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let address = first.split(' ').nth(1).unwrap_or_default();
        let (kind, answer) = match address {
            "/told" => {
                // Whoever asked has gone when nobody hears it.
                let _ = self.told.send(body);
                let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
                let Ok(order) = next.recv() else { return Ok(()) };
                ("application/json", order.into_bytes())
            }
            "/cells" => (
                "application/octet-stream",
                self.cells.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            ),
            _ => match FILES.iter().find(|(name, ..)| *name == address) {
                Some((_, kind, text)) => (*kind, text.as_bytes().to_vec()),
                None => {
                    return write!(
                        &stream,
                        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    );
                }
            },
        };
        let length = answer.len();
        write!(
            &stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\r\n"
        )?;
        (&stream).write_all(&answer)
    }
}

/// The way to the page, ended with its browser when dropped.
struct Link {
    child: Child,
    orders: Sender<String>,
    answers: Receiver<Vec<u8>>,
    cells: Arc<Mutex<Vec<u8>>>,
}

impl Link {
    fn answer(&mut self) -> anyhow::Result<Vec<u8>> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(body) => match body.strip_prefix(b"error:") {
                Some(words) => bail!("{}", String::from_utf8_lossy(words)),
                None => Ok(body),
            },
            Err(_) => bail!("the browser does not answer"),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// One form of the rule on the browser's device.
struct InBrowser {
    stage: Rc<Stage>,
    link: Rc<RefCell<Link>>,
    form: &'static str,
    precision: &'static str,
    by_processor: bool,
}

impl InBrowser {
    /// Nanoseconds of all frames, and the cells after the last if they are wanted.
    fn run(&self, wants_cells: bool) -> anyhow::Result<(f64, Vec<u8>)> {
        let Stage { rule, setting, first_frame, frames, ref from, .. } = *self.stage;
        let mut link = self.link.borrow_mut();
        *link.cells.lock().unwrap_or_else(PoisonError::into_inner) = bytes(from);
        let order = serde_json::json!({
            "rule": rule.name(), "form": self.form, "precision": self.precision, "byProcessor": self.by_processor,
            "width": setting.width, "height": setting.height, "seed": setting.seed, "chance": setting.chance, "finish": setting.finish,
            "first": first_frame, "frames": frames, "wantsCells": wants_cells,
        });
        link.orders.send(order.to_string()).context("the browser is gone")?;
        let told = link.answer()?;
        let (nanoseconds, cells) = told.split_first_chunk().context("the page told too little")?;
        Ok((f64::from_le_bytes(*nanoseconds), cells.to_vec()))
    }
}

impl Contestant for InBrowser {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        Ok(self.run(true)?.1)
    }

    /// By the page's clock. The browser's processor time is that of several processes, and not told.
    fn turn(&mut self) -> anyhow::Result<Sample> {
        let (nanoseconds, _) = self.run(false)?;
        ensure!(nanoseconds > 0.0, "the page's clock is too coarse for {} frames", self.stage.frames);
        Ok(Sample { wall_ns: nanoseconds as u64, cpu_ns: 0, repeats: u64::from(self.stage.frames) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::automaton::Setting;
    use super::super::stages::Story;
    use super::*;
    use crate::measure::Contest;

    #[test]
    fn a_device_has_a_short_name() {
        let told = "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002504) Direct3D11 vs_5_0 ps_5_0, D3D11)";
        assert_eq!(device_of(told), "NVIDIA GeForce RTX 3060");
        let told =
            "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)";
        assert_eq!(device_of(told), "SwiftShader");
        assert_eq!(device_of("Mali-T604"), "Mali-T604");
    }

    #[test]
    fn the_published_form_makes_the_oracle_s_cells_in_every_variant() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context { scratch: folder.path().to_owned(), ..Context::of_a_test() };
        let mut findings = Findings::default();
        let Some(browser) = Browser::open(&context, &mut findings) else {
            // Only then may it be missing: the note says how to have it.
            assert!(findings.notes[0].contains("install Debian's chromium"), "{:?}", findings.notes);
            return;
        };
        let mut story = Story::prove(Setting::new(65, 65, 7)).unwrap();
        story.add_ends(Rule::Grow, 0);
        story.add_ends(Rule::Fill, 0);
        story.add_dots(&[100]);
        for stage in &story.stages {
            let entrants = browser.entrants(stage);
            let count = entrants.len();
            let outcome = Contest { warm_ups: 0, rounds: 1, seed: 1 }.hold(entrants, || ());
            assert_eq!(
                (outcome.excluded.len(), outcome.series.len()),
                (0, count),
                "{:?}",
                outcome.excluded.first()
            );
        }
    }
}
