//! Columns to tensors and back.

use crate::{bound, scored, shown, twice};
use arrow_array::builder::{FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use half::f16;
use oxport_ir::{Fake, ProgramBuilder};
use oxport_score::{Fill, Keep, Options};
use oxport_tensor::{DType, Scalar, Tensor};
use std::sync::Arc;

fn filled(fill: Fill) -> Options {
    Options { fill, ..Options::default() }
}

fn cast() -> Options {
    filled(Fill { cast: true, ..Fill::default() })
}

fn array(of: impl Array + 'static) -> ArrayRef {
    Arc::new(of)
}

fn lists(rows: &[Option<&[Option<i32>]>]) -> ArrayRef {
    let rows = rows.iter().map(|row| row.map(<[Option<i32>]>::to_vec));
    array(ListArray::from_iter_primitive::<Int32Type, _, _>(rows))
}

#[test]
fn every_type_of_numbers_is_a_dtype() {
    let table: Vec<(DType, ArrayRef, &str)> = vec![
        (DType::Bool, array(BooleanArray::from(vec![true, false, true])), "Boolean [true, false, true]"),
        (DType::I8, array(Int8Array::from(vec![1, -2])), "Int8 [2, -4]"),
        (DType::I16, array(Int16Array::from(vec![1, -2])), "Int16 [2, -4]"),
        (DType::I32, array(Int32Array::from(vec![1, -2])), "Int32 [2, -4]"),
        (DType::I64, array(Int64Array::from(vec![1, -2])), "Int64 [2, -4]"),
        (DType::U8, array(UInt8Array::from(vec![1, 2])), "UInt8 [2, 4]"),
        (DType::F16, array(Float16Array::from(vec![f16::from_f32(1.5)])), "Float16 [3.0]"),
        (DType::F32, array(Float32Array::from(vec![1.5, f32::INFINITY])), "Float32 [3.0, inf]"),
        (DType::F64, array(Float64Array::from(vec![0.1])), "Float64 [0.2]"),
        // Arrow has no such floats: the result is one that has all of their values.
        (DType::BF16, array(Float32Array::from(vec![1.5])), "Float32 [3.0]"),
        (DType::F32, array(Float32Array::from(Vec::<f32>::new())), "Float32 []"),
    ];
    for (dtype, x, want) in table {
        let options = if dtype == DType::BF16 { cast() } else { Options::default() };
        assert_eq!(scored(&twice(dtype, None, &[]), options, x), want);
    }
}

#[test]
fn conversions_are_exact_or_asked_for() {
    let wide = "input `x`: column `x`: expected values that are all values of";
    let table: Vec<(DType, ArrayRef, String, &str)> = vec![
        (DType::F32, array(Int16Array::from(vec![7])), "Float32 [14.0]".into(), "Float32 [14.0]"),
        (DType::F32, array(BooleanArray::from(vec![true])), "Float32 [2.0]".into(), "Float32 [2.0]"),
        (DType::I64, array(UInt32Array::from(vec![7])), "Int64 [14]".into(), "Int64 [14]"),
        (DType::F32, array(Float64Array::from(vec![0.1])), format!("{wide} float32, got Float64"), "Float32 [0.2]"),
        (
            DType::F32,
            array(Int32Array::from(vec![16777217])),
            format!("{wide} float32, got Int32"),
            "Float32 [33554432.0]",
        ),
        (DType::I32, array(Int64Array::from(vec![5])), format!("{wide} int32, got Int64"), "Int32 [10]"),
        (
            DType::I32,
            array(Int64Array::from(vec![5, 1 << 40])),
            format!("{wide} int32, got Int64"),
            "column `x`, row 1: expected a value of int32, got 1099511627776",
        ),
        (
            DType::I64,
            array(UInt64Array::from(vec![u64::MAX])),
            format!("{wide} int64, got UInt64"),
            "column `x`, row 0: expected a value of int64, got 18446744073709551615",
        ),
        (
            DType::U8,
            array(Int8Array::from(vec![1, -1])),
            format!("{wide} uint8, got Int8"),
            "column `x`, row 1: expected a value of uint8, got -1",
        ),
        (
            DType::I64,
            array(Float32Array::from(vec![2.0, 2.5])),
            format!("{wide} int64, got Float32"),
            "column `x`, row 1: expected a value of int64, got 2.5",
        ),
        (
            DType::I64,
            array(Float64Array::from(vec![f64::NAN])),
            format!("{wide} int64, got Float64"),
            "column `x`, row 0: expected a value of int64, got NaN",
        ),
        (
            DType::F32,
            array(StringArray::from(vec!["1"])),
            "input `x`: column `x`: expected numbers for float32, got Utf8".into(),
            "input `x`: column `x`: expected numbers for float32, got Utf8",
        ),
    ];
    for (dtype, x, plain, with_cast) in table {
        let program = twice(dtype, None, &[]);
        assert_eq!(scored(&program, Options::default(), x.clone()), plain);
        assert_eq!(scored(&program, cast(), x), with_cast);
    }
}

#[test]
fn keys_stand_for_their_values() {
    let keyed: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    let values = array(Int32Array::from(vec![10, 20]));
    let x = DictionaryArray::<Int32Type>::new(keyed.keys().clone(), values);
    assert_eq!(scored(&twice(DType::I32, None, &[]), Options::default(), array(x)), "Int32 [20, 40]");
}

#[test]
fn lists_are_dimensions() {
    let of = |sizes: &[i64]| twice(DType::I32, None, sizes);
    let (a, b) = ([Some(1), Some(2)], [Some(3), Some(4)]);
    let two = lists(&[Some(&a), Some(&b)]);
    let fixed = "FixedSizeList(2 x Int32) [[2, 4], [6, 8]]";
    assert_eq!(scored(&of(&[2]), Options::default(), two.clone()), fixed);
    assert_eq!(scored(&of(&[-1]), Options::default(), two.clone()), "List(Int32) [[2, 4], [6, 8]]");
    let mut large = LargeListBuilder::new(Int32Builder::new());
    let mut nested = ListBuilder::new(FixedSizeListBuilder::new(Int32Builder::new(), 2));
    for row in [a, b] {
        large.append_value(row);
        for pair in [row, row] {
            nested.values().values().append_slice(&pair.map(Option::unwrap));
            nested.values().append(true);
        }
        nested.append(true);
    }
    assert_eq!(scored(&of(&[2]), Options::default(), array(large.finish())), fixed);
    let nested = array(nested.finish());
    let deep = "List(FixedSizeList(2 x Int32)) [[[2, 4], [2, 4]], [[6, 8], [6, 8]]]";
    assert_eq!(scored(&of(&[-1, 2]), Options::default(), nested.clone()), deep);
    // A slice begins in the middle of the values.
    assert_eq!(
        scored(&of(&[-1, 2]), Options::default(), nested.slice(1, 1)),
        "List(FixedSizeList(2 x Int32)) [[[6, 8], [6, 8]]]"
    );
    assert_eq!(scored(&of(&[2]), Options::default(), two.slice(1, 1)), "FixedSizeList(2 x Int32) [[6, 8]]");
    assert_eq!(
        scored(&of(&[2, 2]), Options::default(), two.clone()),
        "input `x`: column `x`: expected lists of numbers, 2 deep, got List(Int32)"
    );
    assert_eq!(scored(&of(&[]), Options::default(), two), "input `x`: column `x`: expected numbers, got List(Int32)");
}

#[test]
fn ragged_lists_and_nulls_are_errors_or_filled() {
    let of = |sizes: &[i64]| twice(DType::I32, None, sizes);
    let ragged = lists(&[Some(&[Some(1), Some(2)]), Some(&[Some(3)]), Some(&[])]);
    let missing = lists(&[Some(&[Some(1), None]), None]);
    let pad = || filled(Fill { pad: Some(Scalar::Int(-1)), ..Fill::default() });
    let null = || filled(Fill { null: Some(Scalar::Int(9)), ..Fill::default() });
    let table = [
        (
            &[-1][..],
            Options::default(),
            &ragged,
            "column `x`, row 1: expected a list of 2 elements as in row 0, got 1 element",
        ),
        (&[2], Options::default(), &ragged, "column `x`, row 1: expected a list of 2 elements, got 1 element"),
        (&[1], pad(), &ragged, "column `x`, row 0: expected a list of 1 element, got 2 elements"),
        (&[-1], pad(), &ragged, "List(Int32) [[2, 4], [6, -2], [-2, -2]]"),
        (&[3], pad(), &ragged, "FixedSizeList(3 x Int32) [[2, 4, -2], [6, -2, -2], [-2, -2, -2]]"),
        (&[2], Options::default(), &missing, "column `x`, row 1: expected a value, got null"),
        (&[2], null(), &missing, "FixedSizeList(2 x Int32) [[2, 18], [18, 18]]"),
    ];
    for (sizes, options, x, want) in table {
        assert_eq!(scored(&of(sizes), options, x.clone()), want);
    }
    let x = array(Float32Array::from(vec![Some(1.0), None]));
    let float = twice(DType::F32, None, &[]);
    assert_eq!(scored(&float, Options::default(), x.clone()), "column `x`, row 1: expected a value, got null");
    assert_eq!(scored(&float, null(), x.clone()), "Float32 [2.0, 18.0]");
    assert_eq!(scored(&float, null(), x.slice(1, 1)), "Float32 [18.0]");
    let fraction = filled(Fill { null: Some(Scalar::Float(0.5)), ..Fill::default() });
    assert_eq!(scored(&of(&[]), fraction, x), "0.5 is no value of int32");
}

#[test]
fn columns_lie_next_to_one_another() {
    let program = twice(DType::F32, None, &[3]);
    let column = |x: [f32; 2]| array(Float32Array::from(x.to_vec()));
    let table = |names: &[&str]| {
        let columns = names.iter().enumerate().map(|(i, name)| (*name, column([i as f32, 10.0 + i as f32])));
        RecordBatch::try_from_iter(columns).expect("it is a table")
    };
    let bind = |names: &[&str]| Options {
        bind: vec![("x".to_string(), names.iter().map(|name| name.to_string()).collect())],
        keep: Keep::These(vec!["b".to_string()]),
        ..Options::default()
    };
    let batch = table(&["a", "b", "c"]);
    let scorer = bound(&program, bind(&["c", "a", "b"]), &batch).unwrap();
    assert_eq!(scorer.needed(), ["a", "b", "c"]);
    let done = scorer.score(&batch).unwrap();
    assert_eq!(done.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["b", "out.0"]);
    assert_eq!(shown(done.column(1)), "FixedSizeList(3 x Float32) [[4.0, 0.0, 2.0], [24.0, 20.0, 22.0]]");
    // A batch may have the needed columns alone, in any order.
    let done = scorer.score(&batch.project(&[2, 1, 0]).unwrap()).unwrap();
    assert_eq!(shown(done.column(1)), "FixedSizeList(3 x Float32) [[4.0, 0.0, 2.0], [24.0, 20.0, 22.0]]");
    assert_eq!(bound(&program, bind(&["a", "b"]), &batch).unwrap_err(), "input `x`: expected 3 columns, got 2");
    assert_eq!(
        bound(&program, bind(&["a", "d", "b"]), &batch).unwrap_err(),
        "expected a column `d`, got the columns `a`, `b`, `c`"
    );
    assert_eq!(
        bound(&program, Options::default(), &batch).unwrap_err(),
        "input `x`: expected a column of this name, got the columns `a`, `b`, `c`"
    );
    // A column of numbers is a dimension of size 1.
    let one = twice(DType::F32, None, &[1]);
    let squeeze = Options { squeeze: true, ..Options::default() };
    assert_eq!(scored(&one, Options::default(), column([1.0, 2.0])), "FixedSizeList(1 x Float32) [[2.0], [4.0]]");
    assert_eq!(scored(&one, squeeze, column([1.0, 2.0])), "Float32 [2.0, 4.0]");
}

#[test]
fn batches_are_cut_and_padded() {
    let x = array(Int32Array::from((0..7).collect::<Vec<_>>()));
    let want = "Int32 [0, 2, 4, 6, 8, 10, 12]";
    for range in [(3, Some(3)), (7, Some(7)), (1, Some(1)), (1, Some(4)), (5, None), (20, Some(20)), (20, None)] {
        let program = twice(DType::I32, Some(range), &[]);
        assert_eq!(scored(&program, Options::default(), x.clone()), want, "{range:?}");
    }
    // The row of an error counts from the first row of the batch, not of the call.
    let x = array(Int32Array::from(vec![Some(1), Some(2), Some(3), Some(4), None]));
    let program = twice(DType::I32, Some((2, Some(2))), &[]);
    assert_eq!(scored(&program, Options::default(), x), "column `x`, row 4: expected a value, got null");
}

/// Two inputs of a batch and one without; outputs with the batch in dimension 0, in another one, and without.
#[test]
fn inputs_and_outputs_without_batch_are_named() {
    let mut b = ProgramBuilder::new(oxport_ops::registry());
    let rows = b.size("rows", 1, None);
    let x = b.input("x", Fake::new(DType::F32, [rows.clone()])).unwrap();
    let y = b.input("y", Fake::new(DType::F32, [rows])).unwrap();
    let scale = b.input("scale", Fake::new(DType::F32, [2.into()])).unwrap();
    let sum = b.call("aten::add.Tensor", (x, y)).unwrap();
    let total = b.call("aten::sum", (sum,)).unwrap();
    let column = b.call("aten::unsqueeze", (scale, 1)).unwrap();
    let flipped = b.call("aten::mul.Tensor", (column, sum)).unwrap();
    let program = b.finish(&[sum, total, flipped]).unwrap();
    let column = || array(Float32Array::from(vec![1.0, 2.0]));
    let batch = RecordBatch::try_from_iter([("x", column()), ("y", column())]).unwrap();
    let error = |options: Options| bound(&program, options, &batch).unwrap_err();
    let scale = || vec![("scale".to_string(), Tensor::from([1.0f32, 2.0]).into())];
    let given = |outputs: &[&str]| Options {
        constants: scale(),
        outputs: outputs.iter().map(|name| (Some("z".to_string()), name.to_string())).collect(),
        ..Options::default()
    };
    assert_eq!(error(Options::default()), "input `scale`: expected the batch size rows of `y` in dimension 0, got 2");
    let expected = "expected the batch size rows in dimension 0, got a tensor of sizes";
    assert_eq!(error(given(&[])), format!("output `out.1`: {expected} []"));
    assert_eq!(error(given(&["out.2"])), format!("output `z`: {expected} [\"2\", \"rows\"]"));
    assert_eq!(error(given(&["sum"])), "there is no output `sum`; the outputs are `out.0`, `out.1`, `out.2`");
    assert_eq!(error(given(&["out.0", "out.0"])), "two outputs are called `z`");
    let unknown = Options { constants: vec![("w".to_string(), 1.into())], ..Options::default() };
    assert_eq!(error(unknown), "there is no input `w`; the inputs are `x`, `y`, `scale`");
    let done = bound(&program, given(&["out.0"]), &batch).unwrap().score(&batch).unwrap();
    assert_eq!((done.num_columns(), shown(done.column(0))), (1, "Float32 [2.0, 4.0]".to_string()));
}
