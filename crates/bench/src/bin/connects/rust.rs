//! Rust's driver, in a process of its own.

use std::fs;

use ciphertax_bench::{Login, Result, driver};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, SslOpts};

use crate::{Answer, Task};

/// The argument by which this program is that process.
pub(crate) const PART: &str = "mysql-async";
/// Which driver it is.
pub(crate) const VERSION: &str = "mysql_async 0.37, rustls 0.23 with aws-lc-rs";

/// The process: connects until the time is up, and tells how often.
pub(crate) fn main() -> Result<()> {
    driver::main(connects)
}

async fn connects(task: &Task) -> Result<Answer> {
    let authority = task.login.ca_file.as_ref().map(fs::read).transpose()?;
    let new_options = {
        let login = task.login.clone();
        move || options(&login, authority.as_deref())
    };
    let word = word(new_options()).await?;
    let (shared, resume) = (new_options(), task.resume);
    let connect = move || {
        // The tickets of earlier sessions belong to the TLS settings, which belong to the options.
        let options = if resume { shared.clone() } else { new_options() };
        async move { Conn::new(options).await?.disconnect().await }
    };
    let (connects, seconds) = driver::connect_for(task.seconds, task.at_a_time, connect).await?;
    Ok(Answer {
        connects,
        seconds,
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
