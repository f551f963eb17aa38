//! The data of an entry.

use std::borrow::Cow;
use std::io::Read as _;

use super::{Entry, Method};
use crate::{Error, Result};

impl Entry {
    /// The data as it lies in `file`, the file that the entry's directory was read from.
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
            let message = format!("the CRC-32 of the data is {crc:08x}, the archive says {:08x}", self.crc);
            return Err(Error::entry("crc", name, message));
        }
        Ok(data)
    }

    /// The data as PyTorch reads it, whose CRC-32 it does not look at.
    ///
    /// Errors name the entry as `name`.
    pub(crate) fn unchecked<'a>(&self, name: &str, file: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let stored = self.stored(file);
        let data = match self.method {
            Method::Stored => Cow::Borrowed(stored),
            Method::Deflate => {
                let mut data = Vec::new();
                // One byte more than promised, so that an entry that inflates to more is noticed and not followed.
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
