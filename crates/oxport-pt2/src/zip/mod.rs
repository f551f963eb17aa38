//! ZIP files, strictly: the part of the format that PyTorch writes and reads.
//!
//! ```text
//! [local header | name | padding | data]*  [central directory]  [zip64 end]  [end]
//! ```
//!
//! Only the central directory is believed, as PyTorch's reader does (its local headers hold no sizes). Where PyTorch is
//! lenient in ways that only a crafted file needs (duplicate or climbing names, overlapping entries, local names that
//! contradict the directory) the file is refused. Writing stores every entry uncompressed, its data aligned to 64 bytes,
//! so that weights can be used where they lie in a mapped file; the same entries give the same bytes.

mod directory;
mod read;
mod write;

pub use directory::{Directory, Entry, Method};
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

#[cfg(test)]
mod tests;
