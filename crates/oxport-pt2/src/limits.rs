//! How much a file may ask for.

/// Bounds on what is read from a file. The defaults fit every real program; tighten them for files of strangers.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The number of entries of an archive.
    pub entries: usize,
    /// The length of an entry's name, in bytes.
    pub name: usize,
    /// The size of one compressed entry once inflated, in bytes.
    pub inflated: u64,
    /// The sum of all such sizes, in bytes.
    pub inflated_total: u64,
    /// How many times its compressed size an entry may inflate to, once it is larger than [`Limits::FREE_INFLATION`].
    pub ratio: u64,
    /// The size of a JSON text, in bytes.
    pub json: u64,
    /// The number of bytes that the data of one tensor may need in memory.
    pub tensor: u64,
    /// The number of values in a pickle; a long string counts as several.
    pub pickle_values: usize,
}

impl Limits {
    /// Entries that inflate to no more than this may have any ratio.
    pub const FREE_INFLATION: u64 = 64 << 20;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            entries: 1 << 20,
            name: 4096,
            inflated: 32 << 30,
            inflated_total: 128 << 30,
            ratio: 200,
            json: 2 << 30,
            tensor: 1 << 40,
            pickle_values: 2_000_000,
        }
    }
}
