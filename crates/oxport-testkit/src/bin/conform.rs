//! The conformance runner: `conform ops DIR`, `conform programs DIR`, `conform roundtrip DIR`.
//!
//! Every case runs in a worker that is restarted after a crash or a time-out, so that one case never ends the run.

use clap::{Parser, Subcommand, ValueEnum};
use oxport::Opt;
use oxport_testkit::corpus::Corpus;
use oxport_testkit::{Record, Status, operators, programs, roundtrip};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// Runs a corpus against oxport.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Operator cases, in the format of fixtures/ops
    Ops {
        /// The folder of cases.jsonl.zst and tensors.safetensors.zst
        dir: PathBuf,
        /// Only cases whose id or operator matches
        #[arg(long, value_name = "REGEX")]
        filter: Option<String>,
        /// Write one record per case to this file
        #[arg(long, value_name = "F")]
        json: Option<PathBuf>,
        /// Seconds per case
        #[arg(long, value_name = "S", default_value_t = 60)]
        timeout: u64,
    },
    /// Program folders: program.pt2 with io*.safetensors
    Programs {
        /// The folder of folders
        dir: PathBuf,
        /// The optimization level
        #[arg(long, value_enum, default_value_t = Level::Exact)]
        opt: Level,
        /// Decompose the program first
        #[arg(long, value_enum, default_value_t = Form::Read)]
        via: Form,
        /// Only folders whose name matches
        #[arg(long, value_name = "REGEX")]
        filter: Option<String>,
        /// Write one record per folder to this file
        #[arg(long, value_name = "F")]
        json: Option<PathBuf>,
        /// Seconds per program
        #[arg(long, value_name = "S", default_value_t = 60)]
        timeout: u64,
    },
    /// Archives: read, written and read again
    Roundtrip {
        /// The folder of archives, at any depth
        dir: PathBuf,
        /// Only archives whose path matches
        #[arg(long, value_name = "REGEX")]
        filter: Option<String>,
        /// Write one record per archive to this file
        #[arg(long, value_name = "F")]
        json: Option<PathBuf>,
    },
    /// One program folder, in this process: prints its record
    #[command(hide = true)]
    One {
        dir: PathBuf,
        #[arg(long, value_enum, default_value_t = Level::Exact)]
        opt: Level,
        #[arg(long, value_enum, default_value_t = Form::Read)]
        via: Form,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Read,
    Functional,
    Core,
}

impl From<Form> for programs::Via {
    fn from(form: Form) -> programs::Via {
        match form {
            Form::Read => programs::Via::Read,
            Form::Functional => programs::Via::Functional,
            Form::Core => programs::Via::Core,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    None,
    Exact,
    Fast,
}

impl From<Level> for Opt {
    fn from(level: Level) -> Opt {
        match level {
            Level::None => Opt::None,
            Level::Exact => Opt::Exact,
            Level::Fast => Opt::Fast,
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Ops { dir, filter, json, timeout } => ops(&dir, filter, json, timeout),
        Command::Programs { dir, opt, via, filter, json, timeout } => {
            all_programs(&dir, opt, via, filter, json, timeout)
        }
        Command::Roundtrip { dir, filter, json } => round_trips(&dir, filter, json),
        Command::One { dir, opt, via } => {
            let record = programs::judge(&dir, opt.into(), via.into());
            println!("{}", to_json(&record));
            Ok(true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

fn matcher(filter: Option<String>) -> Result<impl Fn(&str) -> bool, String> {
    let regex = filter.map(|f| regex_lite::Regex::new(&f)).transpose().map_err(|e| e.to_string())?;
    Ok(move |text: &str| regex.as_ref().is_none_or(|r| r.is_match(text)))
}

fn to_json(r: &Record) -> serde_json::Value {
    serde_json::json!({"id": r.id, "status": r.status.word(), "detail": r.detail})
}

/// Prints failures and the closing line; writes the records.
fn report(records: &[Record], json: Option<PathBuf>, notes: &str) -> Result<bool, String> {
    let count = |s: &[Status]| records.iter().filter(|r| s.contains(&r.status)).count();
    let (passed, unsupported) = (count(&[Status::Pass]), count(&[Status::Unsupported]));
    let failed = records.len() - passed - unsupported;
    if let Some(path) = json {
        let list: serde_json::Value = records.iter().map(to_json).collect();
        std::fs::write(&path, list.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    print!("{notes}");
    println!("{passed} passed, {failed} failed, {unsupported} unsupported");
    Ok(failed == 0 && unsupported == 0)
}

fn show(record: &Record) {
    if record.status != Status::Pass {
        println!("{} {}: {}", record.status.word(), record.id, record.detail.replace('\n', " "));
    }
}

fn ops(dir: &Path, filter: Option<String>, json: Option<PathBuf>, timeout: u64) -> Result<bool, String> {
    let wanted = matcher(filter)?;
    let corpus: &'static Corpus = Box::leak(Box::new(Corpus::read(dir)?));
    let text = |c: &serde_json::Value| format!("{} {}", c["id"].as_str().unwrap_or(""), c["op"].as_str().unwrap_or(""));
    let cases: Vec<usize> = (0..corpus.cases.len()).filter(|&i| wanted(&text(&corpus.cases[i]))).collect();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut records, mut strides_right, mut strides_compared) = (Vec::new(), 0, 0);
    let mut worker = Worker::start(corpus);
    for i in cases {
        let _ = worker.send.send(i);
        let judged = match worker.receive.recv_timeout(Duration::from_secs(timeout)) {
            Ok(judged) => judged,
            Err(_) => {
                // The thread is abandoned and another one started.
                worker = Worker::start(corpus);
                let detail = format!("no answer within {timeout} s");
                operators::Judged {
                    record: Record { id: text(&corpus.cases[i]), status: Status::Crash, detail },
                    strides: None,
                }
            }
        };
        if let Some(right) = judged.strides {
            strides_compared += 1;
            strides_right += usize::from(right);
        }
        show(&judged.record);
        records.push(judged.record);
    }
    report(&records, json, &format!("strides: {strides_right} of {strides_compared} as PyTorch's\n"))
}

/// A thread that runs cases; a panic becomes a record.
struct Worker {
    send: mpsc::Sender<usize>,
    receive: mpsc::Receiver<operators::Judged>,
}

impl Worker {
    fn start(corpus: &'static Corpus) -> Worker {
        let (send, inbox) = mpsc::channel::<usize>();
        let (outbox, receive) = mpsc::channel();
        std::thread::spawn(move || {
            for i in inbox {
                let case = &corpus.cases[i];
                let judged = std::panic::catch_unwind(|| operators::judge(corpus, case)).unwrap_or_else(|p| {
                    let text = p.downcast_ref::<String>().map(String::as_str).or(p.downcast_ref::<&str>().copied());
                    let id = format!("{} {}", case["id"].as_str().unwrap_or("?"), case["op"].as_str().unwrap_or("?"));
                    let detail = format!("panic: {}", text.unwrap_or("?"));
                    operators::Judged { record: Record { id, status: Status::Crash, detail }, strides: None }
                });
                if outbox.send(judged).is_err() {
                    return;
                }
            }
        });
        Worker { send, receive }
    }
}

fn all_programs(
    dir: &Path,
    opt: Level,
    via: Form,
    filter: Option<String>,
    json: Option<PathBuf>,
    timeout: u64,
) -> Result<bool, String> {
    let wanted = matcher(filter)?;
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut dirs: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.join("program.pt2").exists()).collect();
    dirs.sort();
    let name = |p: &Path| p.file_name().and_then(|n| n.to_str()).unwrap_or("").to_string();
    let mut records = Vec::new();
    for dir in dirs.into_iter().filter(|d| wanted(&name(d))) {
        let record = in_process(&dir, opt, via, Duration::from_secs(timeout)).unwrap_or_else(|detail| Record {
            id: name(&dir),
            status: Status::Crash,
            detail,
        });
        show(&record);
        records.push(record);
    }
    report(&records, json, "")
}

fn round_trips(dir: &Path, filter: Option<String>, json: Option<PathBuf>) -> Result<bool, String> {
    let wanted = matcher(filter)?;
    let (mut folders, mut files) = (vec![dir.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.flatten().map(|e| e.path()) {
            match path.extension().and_then(|e| e.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("pt2") if wanted(&path.to_string_lossy()) => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let record = roundtrip::judge(&file);
        show(&record);
        records.push(record);
    }
    report(&records, json, "")
}

/// Runs a folder in a separate process.
fn in_process(dir: &Path, opt: Level, via: Form, timeout: Duration) -> Result<Record, String> {
    let word = |v: Option<clap::builder::PossibleValue>| v.map_or(String::new(), |v| v.get_name().to_string());
    let (opt, via) = (word(opt.to_possible_value()), word(via.to_possible_value()));
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let out = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let errors = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let file = |f: &tempfile::NamedTempFile| f.reopen().map_err(|e| e.to_string());
    let mut child = std::process::Command::new(exe)
        .args(["one", "--opt", &opt, "--via", &via])
        .arg(dir)
        .stdout(file(&out)?)
        .stderr(file(&errors)?)
        .spawn()
        .map_err(|e| e.to_string())?;
    let start = std::time::Instant::now();
    loop {
        if child.try_wait().map_err(|e| e.to_string())?.is_some() {
            break;
        }
        if start.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("no answer within {} s", timeout.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = std::fs::read_to_string(out.path()).map_err(|e| e.to_string())?;
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text.lines().last().unwrap_or("")) else {
        let errors = std::fs::read_to_string(errors.path()).unwrap_or_default();
        return Err(format!("the process died: {}", errors.lines().next().unwrap_or("")));
    };
    let word = json["status"].as_str().unwrap_or("");
    let all = [Status::Pass, Status::Mismatch, Status::Unsupported, Status::Invalid, Status::Error, Status::Crash];
    let status = all.into_iter().find(|s| s.word() == word).unwrap_or(Status::Crash);
    let field = |k: &str| json[k].as_str().unwrap_or("").to_string();
    Ok(Record { id: field("id"), status, detail: field("detail") })
}
