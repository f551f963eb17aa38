//! [`Job`]: files scored to a file or a folder, in parts.
//!
//! ```text
//! reader ─> bounded queue ─> workers ─> writer, which puts batches in order, ends parts and lists them in the manifest
//!    └───────────── tickets: as many batches are under way as there are tickets ─────────────┘
//! ```
//!
//! Invariants: memory is bounded by the tickets, whatever takes long; what is written does not depend on the number of
//! workers, nor on interruptions.

use crate::error::{Error, Result};
use crate::manifest::{Part, temporary};
use crate::model::Keep;
use crate::scorer::Scorer;
use crate::sink::{Codec, Format, Sink};
use crate::source::{Source, merged};
use crate::state::State;
use arrow_array::RecordBatch;
use serde_json::{Map, Value, json};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

/// Files scored to a file or a folder.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The model with its columns.
    pub scorer: &'a Scorer,
    /// The files.
    pub sources: &'a [Source],
    /// A file name that ends in the suffix of a format, or a folder for parts.
    pub out: PathBuf,
    /// The format of the parts; that of the file name, if it has one.
    pub format: Format,
    /// How results are compressed.
    pub codec: Codec,
    /// The rows of a batch.
    pub batch: usize,
    /// The rows after which a part ends.
    pub part: u64,
    /// The number of batches that are computed at once.
    pub workers: usize,
    /// What happens to a batch that fails.
    pub on_error: OnError,
    /// Whether a run that left its parts goes on.
    pub resume: bool,
    /// What else determines the results: the program, the options of the model.
    pub of: Map<String, Value>,
}

/// What happens to a batch that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The job ends.
    #[default]
    Stop,
    /// Its rows are left out, and listed.
    Skip,
    /// Its outputs are null, and its rows are listed.
    Null,
}

/// How far a job is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The rows that are done, those of an interrupted run included.
    pub rows: u64,
    /// All rows, if the files say it.
    pub total: Option<u64>,
}

/// What a job has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// The rows that were read.
    pub rows: u64,
    /// The rows that were written.
    pub written: u64,
    /// The batches.
    pub batches: u64,
    /// The batches that failed.
    pub errors: u64,
    /// Of the rows, those that an interrupted run had done.
    pub resumed: u64,
    /// The parts.
    pub parts: usize,
    /// The time of this run, without what an interrupted one took.
    pub seconds: f64,
}

/// Where a batch comes from.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    row: u64,
    rows: u64,
}

enum Outcome {
    Scored(RecordBatch),
    /// The batch, and why it failed.
    Failed(RecordBatch, Error),
    /// A file cannot be read.
    Unreadable(Error),
    Panicked(Box<dyn Any + Send>),
}

type Numbered<T> = (u64, Place, T);

impl Job<'_> {
    /// The schema that the scorer is bound to: that of the first file, nullable where one of the files is.
    ///
    /// # Errors
    /// There are no files.
    pub fn table(sources: &[Source]) -> Result<arrow_schema::SchemaRef> {
        merged(sources).ok_or_else(|| Error::request("expected a file to score, got none"))
    }

    /// Scores the files.
    ///
    /// # Errors
    /// A file cannot be read or written, a batch fails and [`OnError::Stop`] is asked for, or the output exists.
    pub fn run(&self, tell: &mut dyn FnMut(Progress)) -> Result<Summary> {
        let start = Instant::now();
        let columns = self.scorer.needed();
        let table = Job::table(self.sources)?;
        // Every file has all columns if all are kept, and the needed ones in any case.
        self.sources.iter().try_for_each(|source| source.check(&table, &columns))?;
        self.codec.check(self.format)?;
        let mut state = State::open(&self.out, self.resume, self.identity()?)?;
        let total = self.sources.iter().map(Source::rows).sum::<Option<u64>>();
        let resumed = state.manifest.parts.iter().map(|part| part.read).sum();
        tell(Progress { rows: resumed, total });
        if !state.manifest.complete {
            let done = self.score(&mut state, &columns, &mut |rows| tell(Progress { rows, total }));
            if let Err(e) = done {
                state.abandon();
                return Err(e);
            }
        }
        let schema = self.scorer.schema();
        let parts = state.manifest.parts.clone();
        state.finish(schema, self.format, self.codec)?;
        let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum();
        Ok(Summary {
            rows: sum(|part| part.read),
            written: sum(|part| part.rows),
            batches: sum(|part| part.batches),
            errors: sum(|part| part.failed),
            resumed,
            parts: parts.len(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn identity(&self) -> Result<Map<String, Value>> {
        let mut of = self.of.clone();
        let files = self.sources.iter().map(|source| crate::manifest::state_of(source.path()));
        let schema = self.scorer.schema().fields().iter().map(|f| format!("{}: {}", f.name(), f.data_type()));
        let keep = match &self.scorer.model().options.keep {
            Keep::Nothing => json!([]),
            Keep::All => json!("*"),
            Keep::These(names) => json!(names),
        };
        for (key, value) in [
            ("files", json!(files.collect::<Result<Vec<_>>>()?)),
            ("columns", json!(schema.collect::<Vec<_>>())),
            ("keep", keep),
            ("format", json!(self.format.suffix())),
            ("codec", json!(format!("{:?}", self.codec).to_lowercase())),
            ("batch", json!(self.batch)),
            ("part", json!(self.part)),
            ("on_error", json!(format!("{:?}", self.on_error).to_lowercase())),
        ] {
            of.insert(key.to_string(), value);
        }
        Ok(of)
    }

    /// The rest of the rows, from the end of the last part on.
    fn score(&self, state: &mut State, columns: &[String], tell: &mut dyn FnMut(u64)) -> Result<()> {
        let from = state.manifest.parts.last().map_or((0, 0), |part| part.next);
        let workers = self.workers.max(1);
        let (ticket, tickets) = sync_channel::<()>(2 * workers + 2);
        let (work, queue) = sync_channel::<Numbered<RecordBatch>>(workers);
        let (results, done) = sync_channel::<Numbered<Outcome>>(workers);
        let queue = Mutex::new(queue);
        for _ in 0..2 * workers + 2 {
            ticket.send(()).expect("law: the channel has room for all tickets");
        }
        thread::scope(|scope| {
            let failed = results.clone();
            scope.spawn(move || self.read(from, columns, &tickets, &work, &failed));
            for _ in 0..workers {
                let (results, queue) = (results.clone(), &queue);
                scope.spawn(move || self.work(queue, &results));
            }
            drop(results);
            // On an error, the ends of the channels are dropped here, and all threads come to an end.
            let wrote = self.write(state, from, &done, &ticket, tell);
            drop((done, ticket));
            wrote
        })
    }

    fn read(
        &self,
        (first, mut row): (usize, u64),
        columns: &[String],
        tickets: &Receiver<()>,
        work: &SyncSender<Numbered<RecordBatch>>,
        failed: &SyncSender<Numbered<Outcome>>,
    ) {
        let mut number = 0;
        for (file, source) in self.sources.iter().enumerate().skip(first) {
            let unreadable = |number, row, e: Error| {
                drop(failed.send((number, Place { file, row, rows: 0 }, Outcome::Unreadable(e))));
            };
            let batches = match source.batches(columns, row, self.batch) {
                Ok(batches) => batches,
                Err(e) => return unreadable(number, row, e),
            };
            for batch in batches {
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(e) => return unreadable(number, row, e.at(format!("from row {row} on"))),
                };
                let place = Place { file, row, rows: batch.num_rows() as u64 };
                if tickets.recv().is_err() || work.send((number, place, batch)).is_err() {
                    return;
                }
                row += place.rows;
                number += 1;
            }
            row = 0;
        }
    }

    fn work(&self, queue: &Mutex<Receiver<Numbered<RecordBatch>>>, results: &SyncSender<Numbered<Outcome>>) {
        loop {
            let next = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
            let Ok((number, place, batch)) = next else { return };
            let scored = catch_unwind(AssertUnwindSafe(|| self.scorer.score(&batch)));
            let outcome = match scored {
                Ok(Ok(scored)) => Outcome::Scored(scored),
                Ok(Err(e)) => Outcome::Failed(batch, e.below(place.row)),
                Err(panic) => Outcome::Panicked(panic),
            };
            if results.send((number, place, outcome)).is_err() {
                return;
            }
        }
    }

    fn write(
        &self,
        state: &mut State,
        mut next: (usize, u64),
        done: &Receiver<Numbered<Outcome>>,
        ticket: &SyncSender<()>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut early: BTreeMap<u64, (Place, Outcome)> = BTreeMap::new();
        let mut rows: u64 = state.manifest.parts.iter().map(|part| part.read).sum();
        let mut part = None;
        let mut number = 0;
        for (at, place, outcome) in done {
            early.insert(at, (place, outcome));
            while let Some((place, outcome)) = early.remove(&number) {
                number += 1;
                let open = match &mut part {
                    Some(open) => open,
                    None => part.insert(self.begin(state)?),
                };
                self.put(state, open, place, outcome)?;
                // The reader may have come to its end.
                let _ = ticket.try_send(());
                next = (place.file, place.row + place.rows);
                rows += place.rows;
                tell(rows);
                if open.about.read >= self.part {
                    self.end(state, part.take(), next)?;
                }
            }
        }
        if part.is_none() && state.manifest.parts.is_empty() {
            part = Some(self.begin(state)?);
        }
        self.end(state, part, next)?;
        state.complete()
    }

    fn begin(&self, state: &State) -> Result<Open> {
        let name = format!("part-{:05}.{}", state.manifest.parts.len(), self.format.suffix());
        let path = temporary(&state.folder.join(&name));
        let sink = Sink::create(&path, self.scorer.schema(), self.format, self.codec)?;
        Ok(Open { path, sink, about: Part { name, ..Part::default() } })
    }

    fn put(&self, state: &mut State, open: &mut Open, place: Place, outcome: Outcome) -> Result<()> {
        let source = &self.sources[place.file];
        open.about.batches += 1;
        open.about.read += place.rows;
        match outcome {
            Outcome::Scored(batch) => open.sink.write(&batch),
            Outcome::Unreadable(e) => Err(e),
            Outcome::Panicked(panic) => resume_unwind(panic),
            Outcome::Failed(batch, e) => {
                let path = source.path().display();
                if self.on_error == OnError::Stop {
                    let place = match e.cause() {
                        Error::Cell { .. } => path.to_string(),
                        _ => format!("{path}, rows {} to {}", place.row, place.row + place.rows - 1),
                    };
                    return Err(e.at(place));
                }
                open.about.failed += 1;
                state.list(&json!({
                    "file": path.to_string(),
                    "first_row": place.row,
                    "rows": place.rows,
                    "message": e.to_string(),
                }))?;
                match self.on_error {
                    OnError::Null => open.sink.write(&self.scorer.nulls(&batch)?),
                    _ => Ok(()),
                }
            }
        }
    }

    fn end(&self, state: &mut State, open: Option<Open>, next: (usize, u64)) -> Result<()> {
        let Some(Open { path, sink, mut about }) = open else { return Ok(()) };
        about.rows = sink.rows;
        about.bytes = sink.finish()?;
        about.next = next;
        state.add(&path, about)
    }
}

/// A part that is being written.
struct Open {
    path: PathBuf,
    sink: Sink,
    about: Part,
}
