//! What those see who may not see everything.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use ciphertax_profile::{CpuProfiler, Stacks, Watched};
use ciphertax_records::why::SymbolTable;
use ciphertax_testkit::{OrdinaryUser, copy_program, is_root, not_tested, says, temporary_folder};

use crate::common::{HZ, SLICE, cpu_time, this_thread};

/// The variable that has a test program try what it may: the number of another process, which is the server.
const TRIES: &str = "CIPHERTAX_PROFILE_TRIES";

/// What a test program says that may not sample anything.
const REFUSED: &str = "refused";

/// Runs this test program as somebody else; what it says.
fn try_as(set_up: impl FnOnce(&mut Command), server: &str) -> Output {
    let folder = temporary_folder();
    let program = folder.path().join("program");
    copy_program(&std::env::current_exe().unwrap(), &program);
    if is_root() {
        OrdinaryUser::find().give(folder.path());
    }
    let mut command = Command::new(program);
    command
        .args([
            "rights::what_this_program_may",
            "--exact",
            "--nocapture",
            "--ignored",
        ])
        .env(TRIES, server)
        .current_dir("/");
    set_up(&mut command);
    let output = command.output().unwrap();
    println!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn said(output: &Output) -> String {
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn as_ordinary_user(command: &mut Command) {
    OrdinaryUser::find().run(command);
}

#[test]
#[ignore = "it is run by others, with the rights of somebody else"]
fn what_this_program_may() {
    let server = std::env::var(TRIES).unwrap();
    let spin = || {
        let end = cpu_time() + Duration::from_millis(300);
        while cpu_time() < end {
            // To ask for the time is the kernel's work.
            (0..5000).for_each(|_| std::hint::spin_loop());
        }
    };
    let mut child = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let ended = thread::spawn(this_thread).join().unwrap();
    let watched = Watched {
        server: vec![server.parse().unwrap_or(child.id())],
        with_children: true,
        client: vec![ended, this_thread()],
    };
    let (mut stacks, mut symbols) = (Stacks::default(), SymbolTable::default());
    match CpuProfiler::open(HZ, SLICE) {
        Err(error) => println!("{REFUSED}: {error}"),
        Ok(mut profiler) => match profiler.begin(&watched, &mut stacks) {
            Err(error) => println!("not begun: {error}"),
            Ok(()) => {
                spin();
                profiler.stop();
                let slice = ciphertax_records::SliceId {
                    cell: String::new(),
                    block: 0,
                    position: 0,
                    arm: String::new(),
                };
                let profile = profiler.profile(slice, &mut stacks, &mut symbols).unwrap();
                println!("comprises {:?}", profiler.comprises());
                if let Some(error) = profiler.passed_over() {
                    println!("passed over: {error}");
                }
                for (side, profile) in &profile.sides {
                    println!(
                        "{side:?} has {}",
                        if profile.samples > 20 { "many" } else { "few" }
                    );
                    println!(
                        "{} samples, {} complete, {} lost",
                        profile.samples, profile.complete, profile.lost
                    );
                }
            }
        },
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_ordinary_user_sees_programs_of_his_own() {
    if !is_root() {
        return not_tested("root alone can be somebody else");
    }
    let output = try_as(as_ordinary_user, "own");
    let said = said(&output);
    if said.contains(REFUSED) {
        assert!(said.contains("setcap"), "{said}");
        return not_tested("this kernel lets ordinary users sample nothing");
    }
    assert!(!said.contains("comprises Whole"), "{said}");
    says(&said, "Server has many … Client has many");
}

#[test]
fn an_ordinary_user_with_little_memory_has_smaller_rings() {
    if !is_root() {
        return not_tested("root alone can be somebody else");
    }
    let output = try_as(
        |command| {
            as_ordinary_user(command);
            // SAFETY: a system call that touches no memory but its arguments.
            unsafe {
                command.pre_exec(|| {
                    let none = libc::rlimit {
                        rlim_cur: 0,
                        rlim_max: 0,
                    };
                    if libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const none) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                    Ok(())
                })
            };
        },
        "own",
    );
    let said = said(&output);
    let is_sound = said.contains("Client has") || said.contains("ulimit -l") || said.contains("setcap");
    assert!(is_sound, "{said}");
}

#[test]
fn another_users_server_is_passed_over_or_refused_with_a_remedy() {
    if !is_root() {
        return not_tested("root alone can be somebody else");
    }
    // This process is root's.
    let output = try_as(as_ordinary_user, &std::process::id().to_string());
    let said = said(&output);
    assert!(!said.contains("Server has"), "{said}");
    let is_passed_over = said.contains("Client has many") && said.contains("passed over: ");
    let is_sound = is_passed_over || said.contains("setcap");
    assert!(is_sound, "{said}");
}

#[test]
fn where_a_filter_forbids_it_the_remedy_is_for_containers() {
    let output = try_as(forbid_perf_events, "own");
    let said = said(&output);
    let holds = said.contains(REFUSED) && said.contains("--cap-add=PERFMON");
    assert!(holds, "{said}");
    if is_root() {
        let as_user = |command: &mut Command| {
            as_ordinary_user(command);
            forbid_perf_events(command);
        };
        let output = try_as(as_user, "own");
        assert!(self::said(&output).contains(REFUSED));
    }
}

/// Has the kernel answer `EPERM` to `perf_event_open`, as containers do.
fn forbid_perf_events(command: &mut Command) {
    const fn statement(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt,
            jf,
            k,
        }
    }
    let filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            libc::SYS_perf_event_open as u32,
            0,
            1,
        ),
        statement(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            0,
            0,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    // SAFETY: system calls that touch no memory but their arguments.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            let is_set = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                ) == 0;
            if is_set {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        })
    };
}
