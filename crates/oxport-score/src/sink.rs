//! Files of results: their formats, codecs and writers.
//!
//! Invariant: the bytes of a file depend on its batches, format and codec alone.

use crate::error::{Error, Result, of_arrow, of_parquet};
use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The format of a file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
    /// An Arrow IPC stream.
    Stream,
}

impl Format {
    const ALL: [(&str, Format); 6] = [
        ("parquet", Format::Parquet),
        ("pq", Format::Parquet),
        ("arrow", Format::Arrow),
        ("feather", Format::Arrow),
        ("ipc", Format::Arrow),
        ("arrows", Format::Stream),
    ];

    /// The format by the suffix of a path.
    pub fn of(path: &Path) -> Option<Format> {
        let suffix = path.extension()?.to_str()?;
        Format::ALL.iter().find(|(name, _)| *name == suffix).map(|(_, format)| *format)
    }
    /// All suffixes, for messages.
    pub fn suffixes() -> String {
        let all: Vec<String> = Format::ALL.iter().map(|(name, _)| format!(".{name}")).collect();
        all.join(", ")
    }
    /// The suffix of files that are written.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Stream => "arrows",
        }
    }
}

/// How pages or buffers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// Snappy: Parquet only.
    Snappy,
    /// Gzip: Parquet only.
    Gzip,
    /// Brotli: Parquet only.
    Brotli,
    /// LZ4, in the framing of the format.
    Lz4,
}

impl Codec {
    /// The codec that a format has without a choice.
    pub fn of(format: Format) -> Codec {
        if format == Format::Parquet { Codec::Snappy } else { Codec::None }
    }

    /// The codec of this name.
    ///
    /// # Errors
    /// There is none, or it is not supported.
    pub fn from_name(name: &str) -> Result<Codec> {
        Ok(match name.to_lowercase().as_str() {
            "none" | "uncompressed" => Codec::None,
            "snappy" => Codec::Snappy,
            "gzip" => Codec::Gzip,
            "brotli" => Codec::Brotli,
            "lz4" => Codec::Lz4,
            "zstd" | "lzo" => return Err(Error::Unsupported(format!("the codec {name} is not supported"))),
            _ => {
                let message = format!("expected none, snappy, gzip, brotli or lz4 as codec, got {name:?}");
                return Err(Error::request(message));
            }
        })
    }

    fn of_parquet(self) -> Compression {
        match self {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Gzip => Compression::GZIP(Default::default()),
            Codec::Brotli => Compression::BROTLI(Default::default()),
            Codec::Lz4 => Compression::LZ4_RAW,
        }
    }

    /// An error if a format lacks the codec.
    ///
    /// # Errors
    /// It does.
    pub fn check(self, format: Format) -> Result<()> {
        match (format, self) {
            (Format::Parquet, _) | (_, Codec::None | Codec::Lz4) => Ok(()),
            (_, codec) => {
                let name = format!("{codec:?}").to_lowercase();
                Err(Error::request(format!("expected none or lz4 as codec of Arrow files, got {name}")))
            }
        }
    }
}

/// The rows of a row group: what is in memory while a file is written.
const ROW_GROUP: usize = 1 << 17;

/// The properties of Parquet files.
pub fn properties(codec: Codec) -> WriterProperties {
    let properties = WriterProperties::builder().set_compression(codec.of_parquet());
    properties.set_max_row_group_row_count(Some(ROW_GROUP)).build()
}

/// The options of Arrow files.
pub fn ipc_options(codec: Codec) -> IpcWriteOptions {
    let codec = if codec == Codec::Lz4 { Some(CompressionType::LZ4_FRAME) } else { None };
    IpcWriteOptions::default().try_with_compression(codec).expect("law: the current version has compression")
}

/// A file that is being written.
pub struct Sink {
    path: PathBuf,
    writer: Writer,
    pub rows: u64,
}

enum Writer {
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
    Stream(Box<StreamWriter<BufWriter<File>>>),
}

impl Sink {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, schema: &SchemaRef, format: Format, codec: Codec) -> Result<Sink> {
        let file = File::create(path).map_err(|e| Error::io("cannot write", path, e))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        let wrong = |e| of_arrow(path, e);
        let writer = match format {
            Format::Parquet => Writer::Parquet(Box::new(
                ArrowWriter::try_new(file, schema.clone(), Some(properties(codec))).map_err(|e| of_parquet(path, e))?,
            )),
            Format::Arrow => Writer::Arrow(Box::new(
                FileWriter::try_new_with_options(file, schema, ipc_options(codec)).map_err(wrong)?,
            )),
            Format::Stream => Writer::Stream(Box::new(
                StreamWriter::try_new_with_options(file, schema, ipc_options(codec)).map_err(wrong)?,
            )),
        };
        Ok(Sink { path: path.to_path_buf(), writer, rows: 0 })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let path = &self.path;
        self.rows += batch.num_rows() as u64;
        match &mut self.writer {
            Writer::Parquet(writer) => writer.write(batch).map_err(|e| of_parquet(path, e)),
            Writer::Arrow(writer) => writer.write(batch).map_err(|e| of_arrow(path, e)),
            Writer::Stream(writer) => writer.write(batch).map_err(|e| of_arrow(path, e)),
        }
    }

    /// Ends the file, and waits until the disk has it; its size.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<u64> {
        let path = &self.path;
        let file = match self.writer {
            Writer::Parquet(writer) => writer.into_inner().map_err(|e| of_parquet(path, e))?,
            Writer::Arrow(writer) => writer.into_inner().map_err(|e| of_arrow(path, e))?,
            Writer::Stream(writer) => writer.into_inner().map_err(|e| of_arrow(path, e))?,
        };
        let file = file.into_inner().map_err(|e| Error::io("cannot write", path, e.into_error()))?;
        file.sync_all().and_then(|()| file.metadata()).map(|m| m.len()).map_err(|e| Error::io("cannot write", path, e))
    }
}
