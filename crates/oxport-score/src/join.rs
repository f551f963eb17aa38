//! Parts to one file.
//!
//! Invariant: the file depends on the parts alone. Parquet parts are not decoded: their column chunks are copied.

use crate::error::{Error, Result, of_arrow, of_parquet};
use crate::manifest::{Part, temporary};
use crate::sink::{Codec, Format, Sink, properties};
use arrow_schema::SchemaRef;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// Writes the rows of parts to a file, which is there when it is complete.
pub fn join(folder: &Path, parts: &[Part], out: &Path, schema: &SchemaRef, format: Format, codec: Codec) -> Result<()> {
    // A link stays a link.
    let target = std::fs::canonicalize(out).unwrap_or_else(|_| out.to_path_buf());
    let beside = temporary(&target);
    let paths: Vec<_> = parts.iter().map(|part| folder.join(&part.name)).collect();
    match format {
        Format::Parquet => {
            let first = metadata(&paths[0])?.1;
            let mut writer = begin(&beside, &first, codec)?;
            for path in &paths {
                let (file, metadata) = metadata(path)?;
                append(&file, &metadata, &mut writer).map_err(|e| of_parquet(path, e))?;
            }
            let file = writer.into_inner().map_err(|e| of_parquet(&beside, e))?;
            let file = file.into_inner().map_err(|e| Error::io("cannot write", &beside, e.into_error()))?;
            file.sync_all().map_err(|e| Error::io("cannot write", &beside, e))?;
        }
        Format::Arrow | Format::Stream => {
            let mut sink = Sink::create(&beside, schema, format, codec)?;
            for path in &paths {
                let wrong = |e| of_arrow(path, e);
                let file = BufReader::new(File::open(path).map_err(|e| Error::io("cannot open", path, e))?);
                let batches: Box<dyn Iterator<Item = _>> = match format {
                    Format::Arrow => Box::new(arrow_ipc::reader::FileReader::try_new(file, None).map_err(wrong)?),
                    _ => Box::new(arrow_ipc::reader::StreamReader::try_new(file, None).map_err(wrong)?),
                };
                for batch in batches {
                    sink.write(&batch.map_err(wrong)?)?;
                }
            }
            sink.finish()?;
        }
    }
    std::fs::rename(&beside, target).map_err(|e| Error::io("cannot write", out, e))
}

fn metadata(path: &Path) -> Result<(File, ParquetMetaData)> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let metadata = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = metadata.parse_and_finish(&file).map_err(|e| of_parquet(path, e))?;
    Ok((file, metadata))
}

fn begin(path: &Path, like: &ParquetMetaData, codec: Codec) -> Result<SerializedFileWriter<BufWriter<File>>> {
    let file = File::create(path).map_err(|e| Error::io("cannot write", path, e))?;
    let about = like.file_metadata();
    let properties = properties(codec).into_builder().set_key_value_metadata(about.key_value_metadata().cloned());
    let schema = about.schema_descr().root_schema_ptr();
    SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties.build()))
        .map_err(|e| of_parquet(path, e))
}

fn append(
    file: &File,
    metadata: &ParquetMetaData,
    writer: &mut SerializedFileWriter<BufWriter<File>>,
) -> parquet::errors::Result<()> {
    for (i, group) in metadata.row_groups().iter().enumerate() {
        let indexes = metadata.column_index().and_then(|all| all.get(i));
        let offsets = metadata.offset_index().and_then(|all| all.get(i));
        let mut into = writer.next_row_group()?;
        for (k, column) in group.columns().iter().enumerate() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: indexes.and_then(|row| row.get(k)).cloned(),
                offset_index: offsets.and_then(|row| row.get(k)).cloned(),
            };
            into.append_column(file, close)?;
        }
        into.close()?;
    }
    Ok(())
}
