//! The data of an entry.

use std::borrow::Cow;
use std::io::Read as _;

use super::{Entry, Method};
use crate::{Error, Result};

impl Entry {
    /// The data in `file`, the file of the entry's directory.
    pub fn stored<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.offset..self.offset + self.stored_len).unwrap_or(&[])
    }

    /// The data, inflated if need be, its CRC-32 checked.
    ///
    /// Errors name the entry as `name`.
    pub fn read<'a>(&self, name: &str, file: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let data = self.unchecked(name, file)?;
        let crc = crc32fast::hash(&data);
        if crc != self.crc {
            let message = format!("the CRC-32 of the data is {crc:08x}, expected {:08x}", self.crc);
            return Err(Error::entry("crc", name, message));
        }
        Ok(data)
    }

    /// The data as PyTorch reads it, without checking its CRC-32.
    ///
    /// Errors name the entry as `name`.
    pub(crate) fn unchecked<'a>(&self, name: &str, file: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let stored = self.stored(file);
        let data = match self.method {
            Method::Stored => Cow::Borrowed(stored),
            Method::Deflate => {
                let mut data = Vec::new();
                // One byte more than declared, to detect an entry that inflates to more.
                let mut reader = flate2::read::DeflateDecoder::new(stored).take(self.len.saturating_add(1));
                reader
                    .read_to_end(&mut data)
                    .map_err(|e| Error::entry("zip", name, format!("the compressed data is damaged: {e}")))?;
                Cow::Owned(data)
            }
        };
        if data.len() as u64 != self.len {
            return Err(Error::entry("sizes", name, format!("the entry does not inflate to {} bytes", self.len)));
        }
        Ok(data)
    }
}
