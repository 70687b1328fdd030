//! `ciphertax connect`.

use std::path::PathBuf;
use std::time::Duration;

use ciphertax_explain::connection::explain;
use ciphertax_model::{TlsLibrary, Transport};
use ciphertax_report::{json, terminal};
use ciphertax_runner::{ConnectPlan, connect};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::file_ending_in;
use crate::exit::{Exit, Stop};
use crate::export::write_text;
use crate::measuring::{parse_any_target, tool, warn_if_unverified};
use crate::show;

const HELP: &str = "\
What curl -w and httpstat are for web servers. A connection is opened as a driver opens it, one question is asked (SELECT 1, or \
ping), and goodbye is said; nothing is written, and the account needs no right but to log in. Over TLS one more connection for each, \
before or after it by chance, tries a resumed TLS session, and one makes it ready. With --count one before all others is not counted.

Shown: wall time, the client's CPU time and the cryptography in it, bytes and round trips of every phase; the CPU of both sides, the \
server's if it runs on this machine, may be looked at and has no other work; what was negotiated; the certificates and how long they \
hold; who computes what; what would be cheaper.

Examples:
  CIPHERTAX_PASSWORD=… ciphertax connect mysql://app@db.example/
  ciphertax connect 'postgres://app@db.example/shop?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem' --count 20
  ciphertax connect mongodb://db.example:27017/ --transport plain
  ciphertax connect mysql://app@db.example/ --transport tls1.2 --library rustls
  ciphertax connect mysql://app@db.example/ --json | jq '.chain[0].days_left'

Exit status: 0 connected; 2 not connected, or wrong use, the message says why; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct ConnectArguments {
    /// Your own server, as for `quick` and `run`: mysql://, postgres:// or mongodb://; of several hosts the first, and on MySQL
    /// with or without a schema, which is then logged in to
    ///
    /// Keep the password out of the process list: leave it out of the URL and give it in the environment variable
    /// CIPHERTAX_PASSWORD.
    target: String,
    /// How many connections, one after the other; of several, after one that is not counted, medians and quartiles are shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=10_000))]
    count: u32,
    /// How bytes travel [default: tls, of the best version that both sides have; plain over a Unix socket of PostgreSQL, which has
    /// no TLS]
    #[arg(long, value_name = "KIND", value_parser = transport())]
    transport: Option<Transport>,
    /// The client's TLS library
    #[arg(long, value_name = "NAME", default_value = "openssl", value_parser = library())]
    library: TlsLibrary,
    /// Print one JSON document to standard output, and nothing else there; ciphertax schema connection describes it
    #[arg(long)]
    json: bool,
    /// Write the document into this file too; may be given again
    #[arg(long, value_name = "FILE.json", value_parser = file_ending_in(&["json"]))]
    export: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &ConnectArguments) -> Result<Exit, String> {
    let target = parse_any_target(&arguments.target)?;
    let best = if target.has_tls() {
        Transport::Tls
    } else {
        Transport::Plain
    };
    let plan = ConnectPlan {
        tool: tool(),
        transport: arguments.transport.unwrap_or(best),
        target,
        library: arguments.library,
        count: arguments.count,
    };
    if plan.transport.is_encrypted() {
        warn_if_unverified(&plan.target);
    }
    let stop = Stop::watch()?;
    let bar = progress(&plan.target.to_string(), arguments.count);
    let connected = connect(&plan, stop.flag(), &mut |done| bar.set_position(done.into()));
    bar.finish_and_clear();
    let mut record = match (connected, stop.caught()) {
        (_, Some(exit)) => return Ok(exit),
        (Err(error), None) => return Err(error.to_string()),
        (Ok(record), None) => record,
    };
    explain(&mut record);
    for path in &arguments.export {
        write_text(path, &json::render(&record))?;
    }
    show::record(&record, arguments.json, |style| {
        terminal::connection(&record, style)
    })?;
    Ok(Exit::Done)
}

/// What is shown while connections are made, where somebody looks on: from the beginning on, since a server may be silent.
fn progress(target: &str, count: u32) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count.into()), ProgressDrawTarget::stderr());
    let done = if count > 1 { ": {pos} of {len}" } else { "" };
    if let Ok(style) = ProgressStyle::with_template(&format!("Connecting to {{msg}}{done}, {{elapsed}}")) {
        bar.set_style(style);
    }
    bar.set_message(target.to_owned());
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.tick();
    bar
}

const TRANSPORTS: [(&str, Transport); 6] = [
    ("tls", Transport::Tls),
    ("tls1.3", Transport::Tls13),
    ("tls1.2", Transport::Tls12),
    ("tls1.1", Transport::Tls11),
    ("tls1.0", Transport::Tls10),
    ("plain", Transport::Plain),
];

fn transport() -> impl TypedValueParser<Value = Transport> {
    PossibleValuesParser::new(TRANSPORTS.map(|(name, _)| name)).try_map(|name| {
        let found = TRANSPORTS.iter().find(|(known, _)| *known == name);
        found.map(|(_, transport)| *transport).ok_or("unknown transport")
    })
}

fn library() -> impl TypedValueParser<Value = TlsLibrary> {
    let all = [TlsLibrary::OpenSsl, TlsLibrary::Rustls];
    PossibleValuesParser::new(all.map(TlsLibrary::name)).try_map(move |name| {
        let found = all.into_iter().find(|library| library.name() == name);
        found.ok_or("unknown library")
    })
}
