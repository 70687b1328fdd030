//! Rust's driver, in a process of its own.

use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use ciphertax_bench::{Login, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, SslOpts};
use tokio::task::JoinSet;

use crate::{Answer, Task};

/// Which driver it is.
pub(crate) const VERSION: &str = "mysql_async 0.37, rustls 0.23 with aws-lc-rs";

/// This program again, as that process.
pub(crate) fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("mysql-async");
    command
}

/// The process: reads its task, connects until the time is up, and tells how often.
pub(crate) fn main() -> Result<()> {
    let task: Task = serde_json::from_reader(io::stdin())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = runtime.block_on(connects(&task))?;
    println!("{}", serde_json::to_string(&answer)?);
    Ok(())
}

async fn connects(task: &Task) -> Result<Answer> {
    let authority = task.login.ca_file.as_ref().map(fs::read).transpose()?;
    let new_options = {
        let login = task.login.clone();
        move || options(&login, authority.as_deref())
    };
    let word = word(new_options()).await?;
    let began = Instant::now();
    let deadline = began + Duration::from_secs(task.seconds.into());
    let shared = new_options();
    let mut loops = JoinSet::new();
    for _ in 0..task.at_a_time {
        let (shared, new_options, resume) = (shared.clone(), new_options.clone(), task.resume);
        loops.spawn(async move {
            let mut connects = 0;
            while Instant::now() < deadline {
                // The tickets of earlier sessions belong to the TLS settings, which belong to the options.
                let options = if resume { shared.clone() } else { new_options() };
                Conn::new(options).await?.disconnect().await?;
                connects += 1;
            }
            Ok::<u64, mysql_async::Error>(connects)
        });
    }
    let mut connects = 0;
    while let Some(ended) = loops.join_next().await {
        connects += ended??;
    }
    Ok(Answer {
        connects,
        seconds: began.elapsed().as_secs_f64(),
        word,
    })
}

/// Options with which a connect is a connect: without them the driver asks the server for its settings first.
fn options(login: &Login, authority: Option<&[u8]>) -> Opts {
    let ssl = authority.map(|pem| {
        SslOpts::default()
            .with_root_certs(vec![pem.to_owned().into()])
            .with_disable_built_in_roots(true)
    });
    OptsBuilder::default()
        .ip_or_hostname(login.host.clone())
        .tcp_port(login.port)
        .user(Some(login.user.clone()))
        .pass(Some(login.password.clone()))
        .db_name(Some(login.database.clone()))
        .prefer_socket(false)
        .max_allowed_packet(Some(16 << 20))
        .wait_timeout(Some(28_800))
        .ssl_opts(ssl)
        .into()
}

/// The server's word for a session with these options.
async fn word(options: Opts) -> Result<String> {
    let mut connection = Conn::new(options).await?;
    let mut word = Vec::new();
    for name in ["Ssl_version", "Ssl_cipher"] {
        let sql = format!("SHOW SESSION STATUS LIKE '{name}'");
        let row: Option<(String, String)> = connection.query_first(sql).await?;
        word.extend(row.map(|(_, value)| value).filter(|value| !value.is_empty()));
    }
    connection.disconnect().await?;
    Ok(word.join(" "))
}
