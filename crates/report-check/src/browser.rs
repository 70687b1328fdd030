//! Headless Chromium over its DevTools protocol, spoken through two pipes: JSON messages that end with a zero byte.
//! <https://chromedevtools.github.io/devtools-protocol/>

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) name: &'static str,
    /// Width of the screen in CSS pixels.
    pub(crate) width: u32,
    height: u32,
    /// Device pixels to a CSS pixel.
    sharpness: f64,
    colours: &'static str,
    media: &'static str,
    scripts: bool,
}

impl Look {
    pub(crate) const DESKTOP: Self = Self {
        name: "desktop",
        width: 1280,
        height: 900,
        sharpness: 1.0,
        colours: "light",
        media: "screen",
        scripts: true,
    };
    pub(crate) const DARK: Self = Self {
        name: "dark",
        colours: "dark",
        ..Self::DESKTOP
    };
    pub(crate) const PHONE: Self = Self {
        name: "phone",
        width: 390,
        height: 844,
        sharpness: 2.0,
        ..Self::DESKTOP
    };
    /// Without any script.
    pub(crate) const STILL: Self = Self {
        name: "without scripts",
        scripts: false,
        ..Self::DESKTOP
    };
    /// True for wide screens.
    pub(crate) fn is_desktop(self) -> bool {
        self.width == Self::DESKTOP.width && self.media == "screen"
    }

    /// True for what is printed.
    pub(crate) fn is_paper(self) -> bool {
        self.media == "print"
    }

    /// True where sliders are there to be moved.
    pub(crate) fn moves_sliders(self) -> bool {
        self.scripts && self.media == "screen"
    }

    /// The width of A4 without its margins.
    pub(crate) const PAPER: Self = Self {
        name: "paper",
        width: 703,
        height: 1020,
        media: "print",
        ..Self::DESKTOP
    };
}

/// A browser of our own with a fresh profile; ended when dropped.
pub(crate) struct Browser {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
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
        let mut process = Command::new("sh")
            .args([
                "-c",
                r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null"#,
                "sh",
            ])
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
            _profile: profile,
        })
    }

    /// Opens a file in a new tab and waits until it is loaded and its fonts are ready.
    pub(crate) fn open(&mut self, html: &Path, look: Look) -> Result<Tab<'_>, Broken> {
        let path = html
            .canonicalize()
            .map_err(|error| format!("{}: {error}", html.display()))?;
        let mut events = Vec::new();
        let target = self.call(
            "",
            "Target.createTarget",
            json!({"url": "about:blank"}),
            &mut events,
        )?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("", "Target.attachToTarget", attach, &mut events)?;
        let mut tab = Tab {
            url: file_url(&path),
            session: session["sessionId"].as_str().unwrap_or_default().into(),
            target: target["targetId"].clone(),
            events: Vec::new(),
            browser: self,
        };
        for domain in ["Runtime", "Log", "Network", "Page"] {
            tab.call(&format!("{domain}.enable"), json!({}))?;
        }
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": look.width, "height": look.height, "deviceScaleFactor": look.sharpness, "mobile": look.width < 600}),
        )?;
        tab.call(
            "Emulation.setEmulatedMedia",
            json!({"media": look.media, "features": [{"name": "prefers-color-scheme", "value": look.colours}]}),
        )?;
        if !look.scripts {
            tab.call("Emulation.setScriptExecutionDisabled", json!({"value": true}))?;
        }
        tab.call("Page.navigate", json!({"url": tab.url}))?;
        tab.wait_for("Page.loadEventFired")?;
        tab.evaluate("document.fonts.ready.then(() => 'ready')")?;
        Ok(tab)
    }

    /// Sends a request and waits for its answer; events that arrive before it are kept.
    fn call(
        &mut self,
        session: &str,
        method: &str,
        params: Value,
        events: &mut Vec<Value>,
    ) -> Result<Value, Broken> {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if !session.is_empty() {
            request["sessionId"] = session.into();
        }
        self.requests
            .write_all(format!("{request}\0").as_bytes())
            .map_err(|error| Broken::Browser(format!("chromium does not take {method}: {error}")))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(deadline, method)?;
            if message["id"] != self.last_id {
                events.push(message);
            } else if message.get("error").is_some() {
                return Err(format!("chromium refuses {method}: {}", message["error"]).into());
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    fn receive(&self, deadline: Instant, what: &str) -> Result<Value, Broken> {
        let message = self
            .messages
            .recv_timeout(deadline.saturating_duration_since(Instant::now()));
        message.map_err(|error| {
            Broken::Browser(match error {
                RecvTimeoutError::Timeout => {
                    format!("chromium has not answered {what} in {} s", PATIENCE.as_secs())
                }
                RecvTimeoutError::Disconnected => format!("chromium ended before it answered {what}"),
            })
        })
    }

    /// True as soon as its process has ended; false if it does not in time.
    fn ends(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(LOOK_EVERY);
        }
        true
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let closed = self.call("", "Browser.close", json!({}), &mut Vec::new());
        if closed.is_err() || !self.ends() {
            let _ = self.process.kill();
        }
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

/// A page that is open, and everything it has reported.
pub(crate) struct Tab<'a> {
    url: String,
    browser: &'a mut Browser,
    session: String,
    target: Value,
    events: Vec<Value>,
}

impl Tab<'_> {
    /// The value of an expression, which must be a string or a promise of one.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<String, Broken> {
        let result = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        )?;
        match result["result"]["value"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("the page cannot be read: {result}").into()),
        }
    }

    /// Everything that went to the console, and every exception.
    pub(crate) fn console(&self) -> Vec<String> {
        self.events
            .iter()
            .filter_map(|event| {
                let params = &event["params"];
                match event["method"].as_str()? {
                    "Runtime.consoleAPICalled" => Some(format!("the console says {}", params["args"])),
                    "Runtime.exceptionThrown" => {
                        Some(format!("an exception: {}", params["exceptionDetails"]))
                    }
                    "Log.entryAdded" => Some(format!("the log says {}", params["entry"]["text"])),
                    _ => None,
                }
            })
            .collect()
    }

    /// Everything that was asked for but the page itself and what is inside it.
    pub(crate) fn fetched(&self) -> Vec<String> {
        self.events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent")
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .filter(|url| *url != self.url && !url.starts_with("data:"))
            .map(|url| format!("the page fetches {url}"))
            .collect()
    }

    /// The whole page, as PNG.
    pub(crate) fn screenshot(&mut self) -> Result<Vec<u8>, Broken> {
        let metrics = self.call("Page.getLayoutMetrics", json!({}))?;
        let size = &metrics["cssContentSize"];
        let clip = json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        let picture = self.call(
            "Page.captureScreenshot",
            json!({"format": "png", "captureBeyondViewport": true, "clip": clip}),
        )?;
        Ok(decoded(&picture)?)
    }

    /// The page on A4 paper, as PDF.
    pub(crate) fn pdf(&mut self) -> Result<Vec<u8>, Broken> {
        let pdf = self.call(
            "Page.printToPDF",
            json!({"printBackground": false, "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69}),
        )?;
        Ok(decoded(&pdf)?)
    }

    pub(crate) fn close(mut self) -> Result<(), Broken> {
        let target = self.target.clone();
        self.call("Target.closeTarget", json!({"targetId": target}))
            .map(|_| ())
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value, Broken> {
        self.browser.call(&self.session, method, params, &mut self.events)
    }

    fn wait_for(&mut self, event: &str) -> Result<(), Broken> {
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(|seen| seen["method"] == event) {
            let message = self.browser.receive(deadline, event)?;
            self.events.push(message);
        }
        Ok(())
    }
}

/// The URL of a file, with the characters escaped that mean something in one.
fn file_url(path: &Path) -> String {
    let escaped = path
        .display()
        .to_string()
        .replace('%', "%25")
        .replace(' ', "%20")
        .replace('#', "%23")
        .replace('?', "%3F");
    format!("file://{escaped}")
}

fn decoded(result: &Value) -> Result<Vec<u8>, String> {
    BASE64_STANDARD
        .decode(result["data"].as_str().unwrap_or_default())
        .map_err(|error| format!("chromium's file cannot be decoded: {error}"))
}
