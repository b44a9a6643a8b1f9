//! The run folder: made before the load, appended to as requests end, read back for the report.

use crate::{SweepError, plan::parse_plan, wall::WallStamp};
use plimsoll_metrics::RunData;
use plimsoll_record::{
    ClientSample, Conditions, PhaseMark, Plan, RECORD_SCHEMA, RequestRecord, Sample, files, read_lines,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Trials of this process so far: two at once must not meet.
static TRIALS: AtomicU64 = AtomicU64::new(0);

/// A folder on disk.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Tries whether `out` can hold runs, and leaves nothing behind: what cannot be written should be said before the
    /// server is asked for anything.
    pub fn try_out(out: &Path) -> Result<(), SweepError> {
        let mut existing =
            out.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let existing = existing.find(|path| path.exists()).unwrap_or(out);
        if !existing.is_dir() {
            return Err(no_folder(existing));
        }
        let number = TRIALS.fetch_add(1, Ordering::Relaxed);
        let trial = existing.join(format!(".plimsoll-trial-{}-{number}", std::process::id()));
        let tried = fs::create_dir(&trial).and_then(|()| {
            let written = fs::write(trial.join("trial"), "?");
            fs::remove_dir_all(&trial).and(written)
        });
        tried.map_err(|error| SweepError::write(existing, &error))
    }

    /// Makes `<out>/<time>-<model>`; with a number behind it if that is taken.
    pub fn create(out: &Path, started: &WallStamp, model: &str) -> Result<Self, SweepError> {
        if out.exists() && !out.is_dir() {
            return Err(no_folder(out));
        }
        fs::create_dir_all(out).map_err(|error| SweepError::write(out, &error))?;
        let name = format!("{}-{}", started.folder(), file_name(model));
        for attempt in 1..1000 {
            let path = out.join(if attempt == 1 { name.clone() } else { format!("{name}-{attempt}") });
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SweepError::write(&path, &error)),
            }
        }
        Err(SweepError::other(format!("{} has too many runs of the same second", out.display())))
    }

    /// An existing run folder.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        let folder = Self { path: path.to_owned() };
        if !path.is_dir() {
            return Err(SweepError::usage(format!(
                "{} is not a folder; name a run folder, such as runs/<time>-<model>",
                path.display()
            )));
        }
        if !folder.file(files::PLAN).is_file() {
            return Err(SweepError::usage(format!(
                "{} is not a run folder: it has no {}",
                path.display(),
                files::PLAN
            )));
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a whole file: first beside its place, then moved there, so that a reader never sees half of it.
    pub fn write(&self, name: &str, text: &str) -> Result<(), SweepError> {
        let path = self.file(name);
        let beside = self.file(&format!(".{name}.new"));
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
        written.map_err(|error| SweepError::write(&path, &error))
    }

    /// Writes plan and conditions.
    pub fn write_head(&self, plan: &Plan, conditions: &Conditions) -> Result<(), SweepError> {
        let plan = toml::to_string(plan)
            .map_err(|error| SweepError::other(format!("the plan has no TOML form: {error}")))?;
        self.write(files::PLAN, &plan)?;
        let conditions = serde_json::to_string_pretty(conditions)
            .map_err(|error| SweepError::other(format!("the conditions have no JSON form: {error}")))?;
        self.write(files::CONDITIONS, &(conditions + "\n"))
    }

    /// Reads everything that the report needs. Lines that cannot be read are counted; a file of lines that does not
    /// exist yet is empty, as a killed run may leave it.
    pub fn read(&self) -> Result<RunData, SweepError> {
        let plan = parse_plan(&self.file(files::PLAN), &self.text(files::PLAN)?)?;
        let conditions = self.text(files::CONDITIONS)?;
        let conditions: Conditions = serde_json::from_str(&conditions).map_err(|error| {
            SweepError::usage(format!("{}: {error}", self.file(files::CONDITIONS).display()))
        })?;
        let requests = read_lines(&self.bytes(files::REQUESTS)?);
        let phases = read_lines(&self.bytes(files::PHASES)?);
        let samples = read_lines(&self.bytes(files::SAMPLES)?);
        let client = read_lines(&self.bytes(files::CLIENT)?);
        let version = [
            (files::CONDITIONS, newer([conditions.schema])),
            (files::REQUESTS, newer(requests.records.iter().map(|record: &RequestRecord| record.schema))),
            (files::PHASES, newer(phases.records.iter().map(|mark: &PhaseMark| mark.schema))),
            (files::SAMPLES, newer(samples.records.iter().map(|sample: &Sample| sample.schema))),
            (files::CLIENT, newer(client.records.iter().map(|sample: &ClientSample| sample.schema))),
        ];
        if let Some((name, version)) = version.into_iter().find_map(|(name, version)| Some((name, version?)))
        {
            return Err(SweepError::usage(format!(
                "{} is of schema {version}; this program reads schema {RECORD_SCHEMA}",
                self.file(name).display()
            )));
        }
        let bad_lines = requests.bad.len() + phases.bad.len() + samples.bad.len() + client.bad.len();
        Ok(RunData {
            plan,
            conditions,
            phases: phases.records,
            requests: requests.records,
            samples: samples.records,
            client: client.records,
            bad_lines,
        })
    }

    fn text(&self, name: &str) -> Result<String, SweepError> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(|error| SweepError::read(&path, &error))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, SweepError> {
        let path = self.file(name);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|error| SweepError::read(&path, &error)),
        }
    }
}

fn no_folder(out: &Path) -> SweepError {
    SweepError::usage(format!("--out: {} is not a folder", out.display()))
}

/// The first schema that is not ours.
fn newer(schemas: impl IntoIterator<Item = u32>) -> Option<u32> {
    schemas.into_iter().find(|schema| *schema != RECORD_SCHEMA)
}

/// A model's name as part of a file name.
fn file_name(model: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = model.chars().map(safe).take(60).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() { "model".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_place_for_runs() {
        let error = RunFolder::create(Path::new("/dev/null"), &WallStamp::now(), "m").unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Usage);
        assert_eq!(error.to_string(), "--out: /dev/null is not a folder");
    }

    #[test]
    fn a_place_is_tried_without_a_trace() {
        let out = std::env::temp_dir().join(format!("plimsoll-trial-{}", std::process::id()));
        RunFolder::try_out(&out.join("a/b")).unwrap();
        assert!(!out.exists());
        fs::create_dir(&out).unwrap();
        RunFolder::try_out(&out).unwrap();
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        fs::write(out.join("file"), "").unwrap();
        let error = RunFolder::try_out(&out.join("file/runs")).unwrap_err();
        fs::remove_dir_all(&out).unwrap();
        assert!(error.to_string().ends_with("file is not a folder"), "{error}");
        assert!(RunFolder::try_out(Path::new("/proc/plimsoll")).is_err());
    }

    #[test]
    fn another_schema_is_refused_by_name() {
        let out = std::env::temp_dir().join(format!("plimsoll-schema-{}", std::process::id()));
        let folder = RunFolder::create(&out, &WallStamp::now(), "m").unwrap();
        folder
            .write_head(&Plan::default(), &Conditions { schema: RECORD_SCHEMA, ..Conditions::default() })
            .unwrap();
        assert!(folder.read().is_ok());
        let mark = PhaseMark::of_run(plimsoll_record::Nanos(1), plimsoll_record::PhaseEdge::RunStart);
        let line = serde_json::to_string(&PhaseMark { schema: 99, ..mark }).unwrap();
        folder.write(files::PHASES, &line).unwrap();
        let error = folder.read().unwrap_err().to_string();
        fs::remove_dir_all(&out).unwrap();
        assert!(error.contains(files::PHASES) && error.contains("schema 99"), "{error}");
    }

    #[test]
    fn a_model_name_cannot_leave_the_folder() {
        assert_eq!(file_name("meta-llama/Llama-3.1-8B"), "meta-llama-Llama-3.1-8B");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("한국어"), "model");
        assert_eq!(file_name(&"x".repeat(500)).len(), 60);
    }
}
