//! Headless Chromium over its DevTools protocol, spoken through two pipes: JSON messages that end with a zero byte.
//! <https://chromedevtools.github.io/devtools-protocol/>

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long an answer may take; a busy machine needs several seconds to start the browser.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether the browser has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Browsers that are started one after the other while they break.
const BROWSERS: u32 = 3;

/// Why looking at a page came to nothing.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The browser has ended or does not answer, whatever the page is.
    Browser(String),
    /// Everything found wrong with the page, or what was asked of it cannot be had.
    Faults(String),
}

impl From<String> for Broken {
    fn from(fault: String) -> Self {
        Self::Faults(fault)
    }
}

/// Looks at a page, and anew with another browser where one breaks, as it may on a busy machine.
pub(crate) fn look_anew_if_it_breaks(look: impl Fn() -> Result<(), Broken>) -> Result<(), String> {
    let mut browsers = 1;
    loop {
        match look() {
            Err(Broken::Browser(_)) if browsers < BROWSERS => browsers += 1,
            Err(Broken::Browser(problem) | Broken::Faults(problem)) => return Err(problem),
            Ok(()) => return Ok(()),
        }
    }
}

/// How the page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Desktop,
    Phone,
    Dark,
    /// A4 without its margins.
    Paper,
    WithoutScripts,
}

/// Every look, and its name.
pub(crate) const LOOKS: [(&str, Look); 5] = [
    ("desktop", Look::Desktop),
    ("phone", Look::Phone),
    ("dark", Look::Dark),
    ("paper", Look::Paper),
    ("without scripts", Look::WithoutScripts),
];

impl Look {
    /// Width and height of the screen in CSS pixels.
    pub(crate) fn size(self) -> [u32; 2] {
        match self {
            Self::Phone => [390, 844],
            Self::Paper => [703, 1020],
            Self::Desktop | Self::Dark | Self::WithoutScripts => [1280, 900],
        }
    }

    /// True where sliders and buttons work.
    pub(crate) fn runs_scripts(self) -> bool {
        !matches!(self, Self::Paper | Self::WithoutScripts)
    }
}

/// A browser of our own with a fresh profile, the page that it shows, and everything the page has reported; ended when
/// dropped.
pub(crate) struct Browser {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    /// The tab with the page, and the session with it; empty for the browser itself.
    tab: Value,
    session: String,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Result<Self, String> {
        let found = Command::new("chromium").arg("--version").output();
        if found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(
                "chromium is not installed: install the package chromium (apt-get install chromium)".into(),
            );
        }
        let profile = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        // Chromium reads requests from descriptor 3 and writes answers to descriptor 4.
        let redirected = r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null"#;
        let mut process = Command::new("sh")
            .args(["-c", redirected, "sh"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromium cannot be started: {error}"))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("chromium was started without pipes".into());
        };
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap_or(Value::Null);
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            requests,
            messages,
            last_id: 0,
            tab: Value::Null,
            session: String::new(),
            events: Vec::new(),
            _profile: profile,
        })
    }

    /// Opens a file in a new tab in place of the one before, and waits until it is loaded and its fonts are ready.
    pub(crate) fn open(&mut self, html: &Path, look: Look) -> Result<(), Broken> {
        let path = html
            .canonicalize()
            .map_err(|error| format!("{}: {error}", html.display()))?;
        self.session.clear();
        if !self.tab.is_null() {
            let close = json!({"targetId": self.tab});
            self.call("Target.closeTarget", close)?;
        }
        let mut opened = self.call("Target.createTarget", json!({"url": "about:blank"}))?;
        self.tab = opened["targetId"].take();
        let attach = json!({"targetId": self.tab, "flatten": true});
        let attached = self.call("Target.attachToTarget", attach)?;
        self.session = attached["sessionId"].as_str().unwrap_or_default().into();
        self.events.clear();
        for domain in ["Runtime", "Log", "Network", "Page"] {
            self.call(&format!("{domain}.enable"), json!({}))?;
        }
        let ([width, height], mobile) = (look.size(), look == Look::Phone);
        let sharpness = if mobile { 2 } else { 1 };
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": sharpness, "mobile": mobile}),
        )?;
        let colours = if look == Look::Dark { "dark" } else { "light" };
        let colours = json!([{"name": "prefers-color-scheme", "value": colours}]);
        let media = if look == Look::Paper { "print" } else { "screen" };
        let media = json!({"media": media, "features": colours});
        self.call("Emulation.setEmulatedMedia", media)?;
        if look == Look::WithoutScripts {
            self.call("Emulation.setScriptExecutionDisabled", json!({"value": true}))?;
        }
        let url = format!("file://{}", path.display());
        self.call("Page.navigate", json!({"url": url}))?;
        let loaded = "Page.loadEventFired";
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(|seen| seen["method"] == loaded) {
            let message = self.receive(deadline, loaded)?;
            self.events.push(message);
        }
        self.read("document.fonts.ready.then(() => 'null')")
    }

    /// What an expression in the page says as JSON, or promises to say.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, expression: &str) -> Result<T, Broken> {
        let expression = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", expression)?;
        let text = result["result"]["value"].as_str();
        let text = text.ok_or_else(|| format!("the page cannot be read: {result}"))?;
        Ok(
            serde_json::from_str(text)
                .map_err(|error| format!("the page cannot be read: {error}: {text}"))?,
        )
    }

    /// Everything that went to the page's console, every exception, and everything that it asked for but itself, which is
    /// first, and what is inside it.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        let reported = self.events.iter().filter_map(|event| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.consoleAPICalled" => Some(format!("the console says {}", params["args"])),
                "Runtime.exceptionThrown" => Some(format!("an exception: {}", params["exceptionDetails"])),
                "Log.entryAdded" => Some(format!("the log says {}", params["entry"]["text"])),
                _ => None,
            }
        });
        let asked = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let fetched = self
            .events
            .iter()
            .filter(asked)
            .skip(1)
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .filter(|url| !url.starts_with("data:"))
            .map(|url| format!("the page fetches {url}"));
        reported.chain(fetched)
    }

    /// The page on A4 paper, as PDF.
    pub(crate) fn pdf(&mut self) -> Result<Vec<u8>, Broken> {
        let paper = json!({"preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69});
        let pdf = self.call("Page.printToPDF", paper)?;
        let decoded = BASE64_STANDARD.decode(pdf["data"].as_str().unwrap_or_default());
        Ok(decoded.map_err(|error| format!("chromium's file cannot be decoded: {error}"))?)
    }

    /// Sends a request to the page, or to the browser where there is none, and waits for its answer; events that arrive
    /// before it are kept.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Broken> {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            request["sessionId"] = self.session.as_str().into();
        }
        self.requests
            .write_all(format!("{request}\0").as_bytes())
            .map_err(|error| Broken::Browser(format!("chromium does not take {method}: {error}")))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(deadline, method)?;
            if message["id"] != self.last_id {
                self.events.push(message);
            } else if message.get("error").is_some() {
                return Err(format!("chromium refuses {method}: {}", message["error"]).into());
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    fn receive(&self, deadline: Instant, what: &str) -> Result<Value, Broken> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.messages
            .recv_timeout(left)
            .map_err(|error| Broken::Browser(format!("chromium does not answer {what}: {error}")))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session.clear();
        let closes = self.call("Browser.close", json!({})).is_ok();
        let deadline = Instant::now() + PATIENCE;
        while closes && matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        // One that has ended takes no harm.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// No sandbox, because tests also run as root; and nothing that would use a network by itself.
const FLAGS: [&str; 10] = [
    "--remote-debugging-pipe",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];
