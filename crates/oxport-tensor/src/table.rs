//! Tables: the vectors that kernels keep beside their operands, of a length that arguments or sizes decide.
//!
//! Law: a length comes from a file, so a table that cannot be had is an error, not the end of the process.

use crate::{Error, Result};

/// The most bytes of one table: what is larger belongs into a tensor.
const LARGEST: usize = 2 << 30;

/// An empty vector with room for `n` elements.
///
/// # Errors
/// There is no memory for them.
pub fn table<T>(n: usize) -> Result<Vec<T>> {
    let refused = || Error::memory(format!("cannot allocate a table of {n} elements of {} bytes", size_of::<T>()));
    let bytes = n.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= LARGEST);
    bytes.ok_or_else(refused)?;
    let mut table = Vec::new();
    table.try_reserve_exact(n).map_err(|_| refused())?;
    Ok(table)
}

/// `n` times this element.
///
/// # Errors
/// As [`table`].
pub fn filled<T: Clone>(element: T, n: usize) -> Result<Vec<T>> {
    let mut filled = table(n)?;
    filled.resize(n, element);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_cannot_be_had_is_an_error() {
        assert_eq!(filled(7u8, 3).unwrap(), [7; 3]);
        assert!(table::<u64>(usize::MAX / 4).unwrap_err().is_memory());
        assert!(filled(0u64, 1 << 50).unwrap_err().is_memory());
    }
}
