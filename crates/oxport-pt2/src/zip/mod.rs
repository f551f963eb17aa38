//! ZIP files, strictly: the part of the format that PyTorch writes and reads.
//!
//! ```text
//! [local header | name | padding | data]*  [central directory]  [zip64 end]  [end]
//! ```
//!
//! Only the central directory is used, as in PyTorch's reader (its local headers have no sizes). A file is an error
//! where PyTorch is more lenient than any legitimate file needs (duplicate names, names with `..`, overlapping entries,
//! local names that differ from the directory), and where it or Python's `zipfile`, which `torch.export.load` uses for
//! old archives, could find other entries than this reader. Writing stores every entry uncompressed with its data
//! aligned to 64 bytes, so that weights can be used in place in a mapped file; the same entries give the same bytes.

mod directory;
mod end;
mod names;
mod read;
mod rooted;
mod write;

pub use directory::{Directory, Entry, Method};
pub(crate) use names::{Names, ROOT, check_payload_name, excerpt};
pub(crate) use rooted::{Rooted, check_format_version};
pub use write::{ALIGN, ZipWriter};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
/// The length of a local header without its name and extra fields.
const LOCAL_LEN: usize = 30;
/// The length of a record of the central directory without its name, extra fields and comment.
const CENTRAL_LEN: usize = 46;
/// Sizes and offsets of this value are in the zip64 extra field.
const IN_ZIP64: u64 = 0xffff_ffff;
/// The id of the zip64 extra field.
const ZIP64_ID: u16 = 1;
/// The id of the extra field with a Unicode name, which Python uses.
const NAME_ID: u16 = 0x7075;
/// The flag of names that are UTF-8.
const UTF8: u16 = 0x0800;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn zip(message: impl Into<String>) -> crate::Error {
    crate::Error::entry("zip", "", message)
}

#[cfg(test)]
mod tests;
