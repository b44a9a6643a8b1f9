//! Appends to the run folder from a thread of its own, so that no disk is waited for where requests are sent.

use crate::{RunFolder, SweepError};
use plimsoll_driver::Stop;
use plimsoll_record::{ClientSample, Level, PhaseEdge, PhaseMark, RequestRecord, Sample, files};
use serde::Serialize;
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
};

/// Something to append.
#[derive(Clone, Debug)]
pub enum Line {
    /// To `requests.jsonl`.
    Request(Box<RequestRecord>),
    /// To `phases.jsonl`.
    Phase(PhaseMark),
    /// To `samples.jsonl`.
    Sample(Box<Sample>),
    /// To `client.jsonl`.
    Client(Box<ClientSample>),
}

/// Called with each request before it is written, off the threads that send.
pub type Finish = Box<dyn FnMut(&mut RequestRecord) + Send>;

/// The writer's thread.
pub struct Writer {
    sender: Sender<Line>,
    thread: JoinHandle<Result<(), SweepError>>,
}

impl Writer {
    /// Opens the files and starts the thread. When a write fails, `stop` is set and the error comes from
    /// [`Writer::close`].
    pub fn start(folder: &RunFolder, stop: Stop, finish: Finish) -> Result<Self, SweepError> {
        let mut out = Files {
            requests: Append::open(folder, files::REQUESTS)?,
            phases: Append::open(folder, files::PHASES)?,
            samples: Append::open(folder, files::SAMPLES)?,
            client: Append::open(folder, files::CLIENT)?,
            level: None,
            finish,
        };
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("plimsoll-writer".to_owned())
            .spawn(move || {
                let result = out.run(&receiver);
                if result.is_err() {
                    stop.set();
                }
                result
            })
            .map_err(|error| SweepError::other(format!("no thread for the writer: {error}")))?;
        Ok(Self { sender, thread })
    }

    /// A handle to append with. Lines sent after a failed write are dropped.
    pub fn sender(&self) -> Sender<Line> {
        self.sender.clone()
    }

    /// Waits until everything is written and on the disk. All senders must have been dropped.
    pub fn close(self) -> Result<(), SweepError> {
        drop(self.sender);
        self.thread.join().map_err(|_| SweepError::other("the writer ended abnormally"))?
    }
}

struct Files {
    requests: Append,
    phases: Append,
    samples: Append,
    client: Append,
    /// The level that goes on.
    level: Option<(Level, u32)>,
    finish: Finish,
}

impl Files {
    fn run(&mut self, lines: &Receiver<Line>) -> Result<(), SweepError> {
        while let Ok(line) = lines.recv() {
            self.take(line)?;
            while let Ok(line) = lines.try_recv() {
                self.take(line)?;
            }
            self.flush()?;
        }
        self.sync()
    }

    fn take(&mut self, line: Line) -> Result<(), SweepError> {
        match line {
            Line::Request(mut record) => {
                (self.finish)(&mut record);
                self.requests.push(&*record)
            }
            Line::Sample(sample) => self.samples.push(&*sample),
            Line::Client(mut sample) => {
                // The process is sampled by one who knows nothing of levels.
                if let (None, Some((level, repeat))) = (sample.level, self.level) {
                    (sample.level, sample.repeat) = (Some(level), Some(repeat));
                }
                self.client.push(&*sample)
            }
            Line::Phase(mark) => {
                match mark.edge {
                    PhaseEdge::LevelStart => self.level = mark.level.zip(mark.repeat),
                    PhaseEdge::LevelEnd => self.level = None,
                    _ => {}
                }
                self.phases.push(&mark)?;
                if matches!(mark.edge, PhaseEdge::LevelEnd | PhaseEdge::RunEnd) {
                    self.sync()
                } else {
                    Ok(())
                }
            }
        }
    }

    fn flush(&mut self) -> Result<(), SweepError> {
        self.requests.flush()?;
        self.phases.flush()?;
        self.samples.flush()?;
        self.client.flush()
    }

    fn sync(&mut self) -> Result<(), SweepError> {
        self.flush()?;
        self.requests.sync()?;
        self.phases.sync()?;
        self.samples.sync()?;
        self.client.sync()
    }
}

/// A file of lines. Whole lines are handed to the system at once, so that only a full disk can tear one.
struct Append {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
}

/// Lines waiting to be written are handed on at this size at the latest, bytes.
const BATCH: usize = 1 << 20;

impl Append {
    fn open(folder: &RunFolder, name: &str) -> Result<Self, SweepError> {
        let path = folder.file(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| SweepError::write(&path, &error))?;
        Ok(Self { path, file, pending: Vec::new() })
    }

    fn push<T: Serialize>(&mut self, line: &T) -> Result<(), SweepError> {
        serde_json::to_writer(&mut self.pending, line).map_err(|error| {
            SweepError::other(format!("a line of {} has no JSON form: {error}", self.path.display()))
        })?;
        self.pending.push(b'\n');
        if self.pending.len() > BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SweepError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&self.pending);
        self.pending.clear();
        written.map_err(|error| SweepError::write(&self.path, &error))
    }

    fn sync(&mut self) -> Result<(), SweepError> {
        self.file.sync_data().map_err(|error| SweepError::write(&self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WallStamp;
    use plimsoll_record::{Conditions, Nanos, Plan, RECORD_SCHEMA};

    fn sample(at: u64, level: Option<Level>) -> Line {
        let text = format!(r#"{{"schema":{RECORD_SCHEMA},"at_ns":{at},"interval_ns":1}}"#);
        let sample: ClientSample = serde_json::from_str(&text).unwrap();
        Line::Client(Box::new(ClientSample { level, ..sample }))
    }

    #[test]
    fn samples_of_the_process_get_the_level_that_goes_on() {
        let out = std::env::temp_dir().join(format!("plimsoll-writer-{}", std::process::id()));
        let folder = RunFolder::create(&out, &WallStamp::now(), "m").unwrap();
        let conditions = Conditions { schema: RECORD_SCHEMA, ..Conditions::default() };
        folder.write_head(&Plan::default(), &conditions).unwrap();
        let writer = Writer::start(&folder, Stop::new(), Box::new(|_| {})).unwrap();
        let lines = writer.sender();
        let level = Level::Concurrency(8);
        let mark = |edge| Line::Phase(PhaseMark::of_level(Nanos(0), edge, level, 1));
        for line in [
            sample(1, None),
            mark(PhaseEdge::LevelStart),
            sample(2, None),
            sample(3, Some(Level::Concurrency(4))),
            mark(PhaseEdge::LevelEnd),
            sample(4, None),
        ] {
            lines.send(line).unwrap();
        }
        drop(lines);
        writer.close().unwrap();
        let run = folder.read().unwrap();
        std::fs::remove_dir_all(&out).unwrap();
        let levels: Vec<_> = run.client.iter().map(|sample| (sample.level, sample.repeat)).collect();
        let other = (Some(Level::Concurrency(4)), None);
        assert_eq!(levels, [(None, None), (Some(level), Some(1)), other, (None, None)]);
    }
}
