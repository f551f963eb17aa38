//! Random arguments by the types of a schema; the random call of a seed and a number.

use super::{Call, Item, Mode, Random, SeedCalls, Spec, perturb};
use oxport::{DType, OpDef};
use oxport_ir::schema::Type;
use oxport_ir::{Argument, Complex, Device, FunctionSchema, MemoryFormat, MemoryLayout};

/// Integers that reveal overflow and off-by-one errors.
pub(super) const INTS: [i64; 22] = [
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX - 1,
    1 << 62,
    -(1 << 62),
    1 << 40,
    -(1 << 40),
    (1 << 32) + 1,
    1 << 31,
    (1 << 31) - 1,
    -(1 << 31),
    1_000_000_000,
    100_000,
    65_536,
    64,
    17,
    -17,
    0,
    -1,
    1,
    2,
];

/// Floats of the same kind.
pub(super) const FLOATS: [f64; 16] = [
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -0.0,
    0.0,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    1e-310,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e20,
    -1e20,
    1e-20,
];

/// Sizes of tensors; large ones repeat elements by a stride of zero.
pub(super) const SIZES: [i64; 14] = [0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 100_000, 1 << 31, 1 << 40, i64::MAX];

/// The call of that number: rows of the table in turn.
pub fn call(seeds: &SeedCalls, seed: u64, number: u64) -> Call {
    let mut random = Random::new(seed, number);
    let (def, known) = &seeds.rows[(number % seeds.rows.len() as u64) as usize];
    let mut call = if known.is_empty() || random.one_in(8) {
        by_schema(def, &mut random)
    } else {
        let mut call = random.pick(known);
        let changes = [0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4][random.below(11)];
        // Beside tensors without elements, sizes of 2^40 cost nothing: kernels are asked for tables of that length.
        if random.one_in(6) {
            perturb::empty_first(&mut call);
            perturb::extreme_number(&mut call, &mut random);
        }
        for _ in 0..changes {
            perturb::perturb(&mut call, def, &mut random);
        }
        call
    };
    call.mode = random.pick(&[Mode::Plain, Mode::Plain, Mode::Constant, Mode::Symbolic, Mode::Bounded]);
    call
}

/// A random call by the schema alone.
fn by_schema(def: &OpDef, random: &mut Random) -> Call {
    let mut call = Call { op: def.name().to_string(), args: Vec::new(), kwargs: Vec::new(), mode: Mode::Plain };
    let shape = sizes(random);
    let Some(schema) = FunctionSchema::parse(def.schema).ok().filter(|s| !s.is_vararg) else {
        for _ in 0..random.below(4) {
            let ty = random.pick(&[Type::Int, Type::Float, Type::Bool, Type::Int]);
            call.args.push(by_type(&ty, &shape, random));
        }
        return call;
    };
    for param in &schema.args {
        if param.default.is_some() && !random.one_in(3) {
            continue;
        }
        let item = by_type(&param.ty, &shape, random);
        if param.kw_only || call.args.len() < call.kwargs.len() || !call.kwargs.is_empty() || param.default.is_some() {
            call.kwargs.push((param.name.to_string(), item));
        } else {
            call.args.push(item);
        }
    }
    call
}

/// Sizes of a tensor of up to five dimensions, most of them small.
pub(super) fn sizes(random: &mut Random) -> Vec<i64> {
    let rank = random.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    (0..rank).map(|_| if random.one_in(6) { random.pick(&SIZES) } else { random.pick(&[1, 2, 3, 4]) }).collect()
}

/// A tensor of these sizes; if they are large, all strides are zero.
pub(super) fn tensor(dtype: DType, sizes: Vec<i64>) -> Spec {
    let mut spec = Spec { sizes, ..Spec::new(dtype, &[]) };
    let small = spec.layout().is_ok_and(|l| l.is_empty() || l.numel() <= 1 << 14);
    if !small {
        spec.strides = Some(vec![0; spec.sizes.len()]);
    }
    spec
}

pub(super) fn dtype(random: &mut Random) -> DType {
    match random.below(3) {
        0 => DType::F32,
        1 => random.pick(&[DType::F32, DType::I64, DType::F64, DType::Bool, DType::C64, DType::BF16]),
        _ => random.pick(DType::ALL),
    }
}

pub(super) fn int(random: &mut Random) -> i64 {
    if random.one_in(2) { random.below(7) as i64 - 2 } else { random.pick(&INTS) }
}

/// A value of a type; tensors often have the given shape.
pub(super) fn by_type(ty: &Type, shape: &[i64], random: &mut Random) -> Item {
    let number = |a: Argument, random: &mut Random| if random.one_in(10) { Item::Read(a) } else { Item::Const(a) };
    match ty {
        Type::Tensor => match random.below(12) {
            0 => Item::Const(Argument::Float(random.pick(&FLOATS))),
            1 => Item::Const(Argument::Int(int(random))),
            _ => Item::Tensor(operand(shape, random)),
        },
        Type::SymInt if random.one_in(12) => Item::Size(random.below(6) as i64),
        Type::Int | Type::SymInt => {
            let n = int(random);
            number(Argument::Int(n), random)
        }
        Type::Float => {
            let x = random.pick(&FLOATS);
            number(Argument::Float(x), random)
        }
        Type::Bool => {
            let b = random.one_in(2);
            number(Argument::Bool(b), random)
        }
        Type::Scalar => match random.below(5) {
            0 => Item::Const(Argument::Complex(Complex::new(random.pick(&FLOATS), random.pick(&FLOATS)))),
            1 => by_type(&Type::Bool, shape, random),
            2 => by_type(&Type::Int, shape, random),
            _ => by_type(&Type::Float, shape, random),
        },
        Type::Str => Item::Const(Argument::from(random.pick(&[
            "",
            "none",
            "mean",
            "sum",
            "floor",
            "trunc",
            "fro",
            "nuc",
            "reflect",
            "constant",
            "linear",
            "ij",
            "xy",
            "zeros",
            "same",
            "valid",
            "forward",
            "ortho",
            "reduced",
            "complete",
            "ii->i",
            "ij,jk->ik",
            "...",
            "->",
            "tanh",
            "lower",
            "add",
            "amax",
            "prod",
        ]))),
        Type::DType => Item::Const(Argument::DType(dtype(random))),
        Type::Layout => Item::Const(Argument::Layout(random.pick(&MemoryLayout::ALL))),
        Type::Device => {
            let kind = random.pick(&["cpu", "cpu", "cuda", "meta"]);
            Item::Const(Argument::Device(Device { kind: kind.into(), index: None }))
        }
        Type::MemoryFormat => Item::Const(Argument::MemoryFormat(random.pick(&MemoryFormat::ALL))),
        Type::Optional(_) if random.one_in(3) => Item::Const(Argument::None),
        Type::Optional(t) => by_type(t, shape, random),
        Type::List(t, n) => {
            let usual = n.map_or(shape.len(), |n| n as usize);
            let len = match random.below(6) {
                0 => random.below(5),
                1 => shape.len(),
                _ => usual,
            };
            // A list of hostile numbers is refused for the first: most are of the small ones.
            let tame = **t == Type::Int || **t == Type::SymInt;
            let each = |random: &mut Random| match tame && !random.one_in(4) {
                true => Item::Const(Argument::Int(random.below(5) as i64 - 1)),
                false => by_type(t, shape, random),
            };
            Item::List((0..len).map(|_| each(random)).collect())
        }
        Type::Generator | Type::Other(_) => Item::Const(Argument::None),
    }
}

/// A tensor as an operand next to others of the given shape.
pub(super) fn operand(shape: &[i64], random: &mut Random) -> Spec {
    let sizes = match random.below(8) {
        0 => sizes(random),
        1 => shape.iter().rev().copied().collect(),
        2 if !shape.is_empty() => shape[1..].to_vec(),
        3 if !shape.is_empty() => vec![shape[random.below(shape.len())]],
        _ => shape.to_vec(),
    };
    let mut spec = tensor(dtype(random), sizes);
    spec.has_special_values = random.one_in(4);
    if spec.dtype == DType::I64 && random.one_in(2) {
        spec.range = Some((0.0, 2.0));
    }
    spec
}
