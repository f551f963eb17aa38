//! [`Source`]: a file of rows, read batch by batch from any row on.
//!
//! Invariants: batches have exactly the rows that were asked for, but for the last of a file; a batch never spans two
//! files; what is read does not depend on where reading begins.

use crate::error::{Error, Result, of_arrow, of_parquet};
use crate::sink::Format;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Reader = Box<dyn RecordBatchReader + Send>;

/// A file of rows.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    format: Format,
    schema: SchemaRef,
    rows: Option<u64>,
}

/// The files that paths name: files, and those of folders in the order of their names. Files that begin with `.` or `_`
/// are left out of folders, and so is what is neither Parquet nor Arrow.
///
/// # Errors
/// A path cannot be read, has another suffix, or there are no files.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|e| Error::io("cannot open", path, e))?;
        if kind.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                let suffixes = Format::suffixes();
                return Err(Error::Data(format!(
                    "{}: expected files that end in {suffixes}, got none",
                    path.display()
                )));
            }
        } else {
            found.push(Source::open(path)?);
        }
    }
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<Source>) -> Result<()> {
    let wrong = |e| Error::io("cannot read", folder, e);
    let entries = std::fs::read_dir(folder).map_err(wrong)?;
    let mut entries = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            walk(&path, found)?;
        } else if Format::of(&path).is_some() {
            found.push(Source::open(&path)?);
        }
    }
    Ok(())
}

impl Source {
    /// Reads the schema of a file.
    ///
    /// # Errors
    /// It cannot be read, or is no file of that format.
    pub fn open(path: &Path) -> Result<Source> {
        let format = Format::of(path).ok_or_else(|| {
            let suffixes = Format::suffixes();
            Error::request(format!("expected a file name that ends in {suffixes}, got {}", path.display()))
        })?;
        let (schema, rows) = guarded(path, || {
            Ok(match format {
                Format::Parquet => {
                    let builder = parquet(path)?;
                    let rows = builder.metadata().file_metadata().num_rows();
                    (builder.schema().clone(), u64::try_from(rows).ok())
                }
                Format::Arrow => (arrow(path, None)?.schema(), None),
                Format::Stream => (stream(path, None)?.schema(), None),
            })
        })?;
        Ok(Source { path: path.to_path_buf(), format, schema, rows })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    /// The number of rows, if the file says it.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// Checks before any work is done that these columns can be read, and have the types of `table`.
    ///
    /// # Errors
    /// A column is missing or of another type, or its codec is not supported.
    pub fn check(&self, table: &Schema, columns: &[String]) -> Result<()> {
        for name in columns {
            let wrong = |expected: String| Err(Error::Data(format!("{}: {expected}", self.path.display())));
            let (Ok(want), got) = (table.field_with_name(name), self.schema.field_with_name(name)) else { continue };
            match got {
                Err(_) => return wrong(format!("expected a column `{name}` as in the first file, got none")),
                Ok(got) if got.data_type() != want.data_type() => {
                    let (want, got) = (want.data_type(), got.data_type());
                    return wrong(format!("column `{name}`: expected {want} as in the first file, got {got}"));
                }
                Ok(_) => {}
            }
        }
        if self.format == Format::Parquet {
            let builder = parquet(&self.path)?;
            for column in builder.metadata().row_groups().iter().flat_map(|group| group.columns()) {
                let root = column.column_path().parts().first();
                let is_read = root.is_some_and(|root| columns.contains(root));
                if let (true, Compression::ZSTD(_) | Compression::LZO) = (is_read, column.compression()) {
                    let codec = column.compression().to_string();
                    let codec = codec.split('(').next().unwrap_or_default().to_lowercase();
                    let (path, column) = (self.path.display(), column.column_path().string());
                    return Err(Error::Unsupported(format!(
                        "{path}: column `{column}`: the codec {codec} is not supported; expected none, snappy, gzip, \
                         brotli or lz4"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The rows from `from` on, `size` at a time, with these columns.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn batches(&self, columns: &[String], from: u64, size: usize) -> Result<Batches> {
        let at: Vec<usize> = columns.iter().filter_map(|name| self.schema.index_of(name).ok()).collect();
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        let (inner, skip) = guarded(&self.path, || self.reader(at, skip, size))?;
        Ok(Batches { path: self.path.clone(), inner, size: size.max(1), skip, held: Vec::new(), is_done: false })
    }

    /// A reader, and how many of its rows are to be left out: the formats of Arrow cannot be read from a row on.
    fn reader(&self, columns: Vec<usize>, skip: usize, size: usize) -> Result<(Reader, usize)> {
        let path = &self.path;
        Ok(match self.format {
            Format::Parquet => {
                let builder = parquet(path)?;
                let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
                let builder = builder.with_projection(mask).with_batch_size(size).with_offset(skip);
                (Box::new(builder.build().map_err(|e| of_parquet(path, e))?), 0)
            }
            Format::Arrow => (arrow(path, Some(columns))?, skip),
            Format::Stream => (stream(path, Some(columns))?, skip),
        })
    }
}

/// Runs what reads a file. The libraries panic on some damaged files, and the file is to blame.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Error::Data(format!("{}: the file is damaged", path.display()));
    catch_unwind(AssertUnwindSafe(read)).map_err(damaged).flatten()
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io("cannot open", path, e))
}

fn parquet(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    ParquetRecordBatchReaderBuilder::try_new(open(path)?).map_err(|e| of_parquet(path, e))
}

fn arrow(path: &Path, columns: Option<Vec<usize>>) -> Result<Reader> {
    let reader = arrow_ipc::reader::FileReader::try_new(BufReader::new(open(path)?), columns);
    Ok(Box::new(reader.map_err(|e| of_arrow(path, e))?))
}

fn stream(path: &Path, columns: Option<Vec<usize>>) -> Result<Reader> {
    let reader = arrow_ipc::reader::StreamReader::try_new(BufReader::new(open(path)?), columns);
    Ok(Box::new(reader.map_err(|e| of_arrow(path, e))?))
}

/// The batches of a file.
pub struct Batches {
    path: PathBuf,
    inner: Reader,
    size: usize,
    skip: usize,
    held: Vec<RecordBatch>,
    is_done: bool,
}

impl Batches {
    fn held(&self) -> usize {
        self.held.iter().map(RecordBatch::num_rows).sum()
    }

    /// The first rows of what is held, as one batch.
    fn take(&mut self) -> Result<Option<RecordBatch>> {
        let all = match &self.held[..] {
            [] => return Ok(None),
            [one] => one.clone(),
            [first, ..] => arrow_select::concat::concat_batches(&first.schema(), &self.held)
                .map_err(|e| of_arrow(&self.path, e))?,
        };
        self.held.clear();
        let rows = self.size.min(all.num_rows());
        if rows < all.num_rows() {
            self.held.push(all.slice(rows, all.num_rows() - rows));
        }
        Ok(Some(all.slice(0, rows)))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        while !self.is_done && self.held() < self.size {
            match guarded(&self.path, || Ok(self.inner.next())) {
                Err(e) => {
                    self.is_done = true;
                    self.held.clear();
                    return Some(Err(e));
                }
                Ok(next) => match next {
                    None => self.is_done = true,
                    Some(Err(e)) => {
                        self.is_done = true;
                        self.held.clear();
                        return Some(Err(of_arrow(&self.path, e)));
                    }
                    Some(Ok(batch)) => {
                        let left_out = self.skip.min(batch.num_rows());
                        self.skip -= left_out;
                        if left_out < batch.num_rows() {
                            self.held.push(batch.slice(left_out, batch.num_rows() - left_out));
                        }
                    }
                },
            }
        }
        self.take().transpose()
    }
}

/// The schema of several files: a column may have nulls if it may in one of them.
pub fn merged(sources: &[Source]) -> Option<SchemaRef> {
    let (first, rest) = sources.split_first()?;
    let may_be_null = |name: &str| rest.iter().any(|s| s.schema.field_with_name(name).is_ok_and(|f| f.is_nullable()));
    let fields = first.schema.fields().iter().map(|field| {
        let is_nullable = field.is_nullable() || may_be_null(field.name());
        Arc::new(field.as_ref().clone().with_nullable(is_nullable))
    });
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}
