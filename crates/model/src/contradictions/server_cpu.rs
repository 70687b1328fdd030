//! What cannot tell a server's CPU time.

use super::found::{Found, Path};
use crate::agent_address::AgentAddress;
use crate::server_cpu::CpuCounter;
use crate::study::Study;

pub(super) fn check_server_cpu(study: &Study, found: &mut Found) {
    if let Some(agent) = &study.agent
        && let Err(error) = agent.parse::<AgentAddress>()
    {
        found.add(Path::of("agent"), format!("agent {agent:?} is no agent: {error}"));
    }
    let Some(counter) = &study.server_cpu else {
        return;
    };
    let path = || Path::of("server_cpu");
    if study.agent.is_some() {
        let message = "agent and server_cpu both tell the server's CPU time; leave one of them out";
        found.add(path(), message);
    }
    if counter.command.is_empty() == counter.exporter.is_none() {
        let message = "server_cpu needs either command = [\"PROGRAM\", \"ARGUMENT\"] or exporter = \"http://host:9100/metrics\"";
        found.add(path(), message);
    }
    if let Some(problem) = counter.wrong_exporter() {
        found.add(path().key("exporter"), format!("server_cpu.exporter: {problem}"));
    }
    if let Some(seconds) = counter.resolution_s
        && !CpuCounter::RESOLUTION_S.contains(&seconds)
    {
        let (least, most) = CpuCounter::RESOLUTION_S.into_inner();
        let message =
            format!("server_cpu.resolution_s is {seconds}; it must lie between {least} and {most} seconds");
        found.add(path().key("resolution_s"), message);
    }
}
