//! Lists as dimensions: which elements of the innermost array a tensor takes, in order.
//!
//! Invariant: [`Rows`] has as many elements as the product of the sizes so far, so that an element's row is its index
//! divided by the elements per row.

use crate::error::{Error, Remedy, Result};
use crate::fill::Fill;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeListArray, ListArray};
use arrow_schema::DataType;
use std::ops::Range;

/// A size of a tensor behind its batch dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// The program's.
    Fixed(usize),
    /// The data's.
    Any,
}

/// One element of an array, or what stands in for it.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// This element.
    At(usize),
    /// The value of nulls.
    Null,
    /// The value of what a list lacks.
    Pad,
}

/// Elements of an array.
pub enum Rows {
    /// Neighbors, of which none is null.
    Range(Range<usize>),
    /// Any.
    Slots(Vec<Slot>),
}

impl Rows {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(range) => range.len(),
            Rows::Slots(slots) => slots.len(),
        }
    }
    fn slots(self) -> Vec<Slot> {
        match self {
            Rows::Range(range) => range.map(Slot::At).collect(),
            Rows::Slots(slots) => slots,
        }
    }
}

/// A column whose lists are followed to the innermost array.
pub struct Leaves {
    /// The innermost array.
    pub array: ArrayRef,
    /// The elements of it.
    pub rows: Rows,
    /// The sizes behind the batch dimension.
    pub sizes: Vec<usize>,
}

/// The element type of nested lists, and how deep they are.
pub fn leaf(mut of: &DataType) -> (&DataType, usize) {
    let mut depth = 0;
    while let DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) = of {
        (of, depth) = (field.data_type(), depth + 1);
    }
    match of {
        DataType::Dictionary(_, values) => (values, depth),
        _ => (of, depth),
    }
}

/// An error of the cell that holds an element, `per_row` of which are a row.
pub fn cell(column: &str, element: usize, per_row: usize, message: String, remedy: Option<Remedy>) -> Error {
    let row = (element / per_row.max(1)) as u64;
    Error::Cell { column: column.to_string(), row, message, remedy }
}

/// Follows the lists of a column.
///
/// # Errors
/// A null, or lists of different lengths, without a value that stands in.
pub fn follow(column: &str, array: &ArrayRef, dims: &[Dim], fill: &Fill) -> Result<Leaves> {
    let (mut array, mut rows, mut sizes) = (array.clone(), Rows::Range(0..array.len()), Vec::new());
    for &dim in dims {
        let per_row = sizes.iter().product();
        let lists = Lists::of(&array)?;
        let size = lists.size(column, &rows, dim, per_row, fill)?;
        let inner = lists.values();
        rows = lists.expand(rows, size);
        sizes.push(size);
        array = inner;
    }
    if array.null_count() > 0 {
        let per_row = sizes.iter().product();
        let mut slots = rows.slots();
        for (i, slot) in slots.iter_mut().enumerate() {
            if let Slot::At(at) = *slot
                && array.is_null(at)
            {
                fill.null.ok_or_else(|| null(column, i, per_row))?;
                *slot = Slot::Null;
            }
        }
        rows = Rows::Slots(slots);
    }
    Ok(Leaves { array, rows, sizes })
}

fn null(column: &str, element: usize, per_row: usize) -> Error {
    cell(column, element, per_row, "expected a value, got null".to_string(), Some(Remedy::Null))
}

/// An array of lists of any kind.
enum Lists<'a> {
    Small(&'a ListArray),
    Large(&'a LargeListArray),
    Fixed(&'a FixedSizeListArray),
}

impl Lists<'_> {
    fn of(array: &ArrayRef) -> Result<Lists<'_>> {
        let any = array.as_any();
        let small = || any.downcast_ref().map(Lists::Small);
        let large = || any.downcast_ref().map(Lists::Large);
        let fixed = || any.downcast_ref().map(Lists::Fixed);
        let found = small().or_else(large).or_else(fixed);
        found.ok_or_else(|| Error::Data(format!("expected lists, got {}", array.data_type())))
    }

    fn values(&self) -> ArrayRef {
        match self {
            Lists::Small(lists) => lists.values().clone(),
            Lists::Large(lists) => lists.values().clone(),
            Lists::Fixed(lists) => lists.values().clone(),
        }
    }

    fn is_null(&self, at: usize) -> bool {
        match self {
            Lists::Small(lists) => lists.is_null(at),
            Lists::Large(lists) => lists.is_null(at),
            Lists::Fixed(lists) => lists.is_null(at),
        }
    }

    /// The elements of a list; Arrow has checked the offsets.
    fn range(&self, at: usize) -> Range<usize> {
        match self {
            Lists::Small(lists) => lists.value_offsets()[at] as usize..lists.value_offsets()[at + 1] as usize,
            Lists::Large(lists) => lists.value_offsets()[at] as usize..lists.value_offsets()[at + 1] as usize,
            Lists::Fixed(lists) => {
                let start = lists.value_offset(at) as usize;
                start..start + lists.value_length() as usize
            }
        }
    }

    /// The size that all lists have, or are padded to.
    fn size(&self, column: &str, rows: &Rows, dim: Dim, per_row: usize, fill: &Fill) -> Result<usize> {
        let mut first = None;
        let mut longest = 0;
        let mut check = |i: usize, at: usize| {
            if self.is_null(at) {
                return fill.null.map(drop).ok_or_else(|| null(column, i, per_row));
            }
            let got = self.range(at).len();
            let elements = |n: usize| format!("{n} element{}", if n == 1 { "" } else { "s" });
            let different = |want: usize, place: String, remedy| {
                let message = format!("expected a list of {}{place}, got {}", elements(want), elements(got));
                Err(cell(column, i, per_row, message, remedy))
            };
            match (dim, first) {
                (Dim::Fixed(n), _) if got > n => return different(n, String::new(), None),
                (Dim::Fixed(n), _) if got < n && fill.pad.is_none() => {
                    return different(n, String::new(), Some(Remedy::Pad));
                }
                (Dim::Any, Some((row, n))) if got != n && fill.pad.is_none() => {
                    return different(n, format!(" as in row {row}"), Some(Remedy::Pad));
                }
                (Dim::Any, None) => first = Some((i / per_row.max(1), got)),
                _ => {}
            }
            longest = longest.max(got);
            Ok(())
        };
        match rows {
            Rows::Range(range) => range.clone().enumerate().try_for_each(|(i, at)| check(i, at))?,
            Rows::Slots(slots) => slots.iter().enumerate().try_for_each(|(i, slot)| match slot {
                Slot::At(at) => check(i, *at),
                _ => Ok(()),
            })?,
        }
        Ok(if let Dim::Fixed(n) = dim { n } else { longest })
    }

    /// The elements of the lists, `size` of each.
    fn expand(&self, rows: Rows, size: usize) -> Rows {
        if let Rows::Range(range) = &rows
            && let Some(whole) = self.neighbors(range.clone(), size)
        {
            return Rows::Range(whole);
        }
        let mut slots = Vec::with_capacity(rows.len() * size);
        for slot in rows.slots() {
            match slot {
                Slot::At(at) if !self.is_null(at) => {
                    let range = self.range(at);
                    let lacking = size - range.len().min(size);
                    slots.extend(range.map(Slot::At).chain(std::iter::repeat_n(Slot::Pad, lacking)));
                }
                Slot::Pad => slots.extend(std::iter::repeat_n(Slot::Pad, size)),
                _ => slots.extend(std::iter::repeat_n(Slot::Null, size)),
            }
        }
        Rows::Slots(slots)
    }

    /// The elements of these lists as one range, if none is null and each has `size`.
    fn neighbors(&self, range: Range<usize>, size: usize) -> Option<Range<usize>> {
        if range.is_empty() {
            return Some(0..0);
        }
        let is_plain = |at: usize| !self.is_null(at) && self.range(at).len() == size;
        let whole = self.range(range.start).start..self.range(range.end - 1).end;
        (range.clone().all(is_plain) && whole.len() == range.len() * size).then_some(whole)
    }
}
