//! Meta values: what is known of a value without its data.
//!
//! [`Val`] is the `meta["val"]` of an FX node. A [`Fake`] is PyTorch's `FakeTensor`: dtype, symbolic sizes and strides
//! in elements, device. Symbols are those of the program's `ShapeEnv`.

use oxport_sym::Expr;
use oxport_tensor::{DType, Layout};
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A list of symbolic sizes or strides.
pub type Dims = SmallVec<[Expr; 4]>;

/// A tensor without data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fake {
    /// The element type.
    pub dtype: DType,
    /// The sizes, outermost first.
    pub sizes: Dims,
    /// The strides, in elements; as many as there are sizes.
    pub strides: Dims,
    /// The offset of the first element in its storage, in elements. PyTorch's loader drops it: advisory.
    pub offset: Expr,
    /// Where PyTorch had it. oxport computes on the CPU and carries the device along.
    pub device: Device,
    /// Whether PyTorch's autograd would track it.
    pub requires_grad: bool,
}

impl Fake {
    /// A contiguous CPU tensor.
    pub fn new(dtype: DType, sizes: impl IntoIterator<Item = Expr>) -> Fake {
        let sizes: Dims = sizes.into_iter().collect();
        let strides = contiguous_strides(&sizes);
        Fake { dtype, sizes, strides, offset: Expr::from(0i64), device: Device::cpu(), requires_grad: false }
    }
    /// The fake of a tensor with data: its dtype and layout as constants.
    pub fn of(t: &oxport_tensor::Tensor) -> Fake {
        let l = t.layout();
        Fake {
            dtype: t.dtype(),
            sizes: l.sizes.iter().map(|&s| Expr::from(s)).collect(),
            strides: l.strides.iter().map(|&s| Expr::from(s)).collect(),
            offset: Expr::from(0i64),
            device: Device::cpu(),
            requires_grad: false,
        }
    }
    /// The number of dimensions.
    pub fn dim(&self) -> usize {
        self.sizes.len()
    }
    /// The product of the sizes.
    pub fn numel(&self) -> Expr {
        self.sizes.iter().fold(Expr::from(1i64), |n, s| n * s)
    }
    /// The sizes as numbers, if none is symbolic.
    pub fn concrete_sizes(&self) -> Option<SmallVec<[i64; 6]>> {
        self.sizes.iter().map(Expr::as_int).collect()
    }
    /// Sizes and strides as a layout at offset 0, if none is symbolic.
    pub fn concrete_layout(&self) -> Option<Layout> {
        let strides = self.strides.iter().map(Expr::as_int).collect::<Option<_>>()?;
        Some(Layout { sizes: self.concrete_sizes()?, strides, offset: 0 })
    }
    /// The same with another dtype.
    pub fn with_dtype(&self, dtype: DType) -> Fake {
        Fake { dtype, ..self.clone() }
    }
    /// Every symbolic number of this value replaced by `f` of it.
    pub fn map_exprs(&self, f: &mut dyn FnMut(&Expr) -> Expr) -> Fake {
        Fake {
            dtype: self.dtype,
            sizes: self.sizes.iter().map(&mut *f).collect(),
            strides: self.strides.iter().map(&mut *f).collect(),
            offset: f(&self.offset),
            device: self.device.clone(),
            requires_grad: self.requires_grad,
        }
    }
}

/// The strides of a contiguous tensor: sizes of 0 and 1 count as 1, as in PyTorch.
pub fn contiguous_strides(sizes: &[Expr]) -> Dims {
    let mut strides: Dims = sizes.iter().map(|_| Expr::from(1i64)).collect();
    for i in (0..sizes.len().saturating_sub(1)).rev() {
        let size = match sizes[i + 1].as_int() {
            Some(n) => Expr::from(n.max(1)),
            None => sizes[i + 1].clone(),
        };
        strides[i] = &strides[i + 1] * &size;
    }
    strides
}

/// The meta value of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Val {
    /// No value: the node is called for its effect, or an optional result is absent.
    None,
    /// A tensor.
    Tensor(Fake),
    /// An integer, symbolic or constant (`SymInt`).
    Int(Expr),
    /// A float, symbolic or constant (`SymFloat`).
    Float(Expr),
    /// A bool, symbolic or constant (`SymBool`).
    Bool(Expr),
    /// A string constant.
    Str(Box<str>),
    /// Several results, or a list of tensors.
    List(Vec<Val>),
    /// An effect token.
    Token,
    /// A custom object (TorchBind), by its class.
    Object(Box<str>),
}

impl Val {
    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&Fake> {
        if let Val::Tensor(t) = self { Some(t) } else { None }
    }
    /// The symbolic integer, if it is one.
    pub fn as_int(&self) -> Option<&Expr> {
        if let Val::Int(e) = self { Some(e) } else { None }
    }
    /// Every symbolic number of this value replaced by `f` of it.
    pub fn map_exprs(&self, f: &mut dyn FnMut(&Expr) -> Expr) -> Val {
        match self {
            Val::Tensor(t) => Val::Tensor(t.map_exprs(f)),
            Val::Int(e) => Val::Int(f(e)),
            Val::Float(e) => Val::Float(f(e)),
            Val::Bool(e) => Val::Bool(f(e)),
            Val::List(l) => Val::List(l.iter().map(|v| v.map_exprs(f)).collect()),
            other => other.clone(),
        }
    }
    /// Lays this value out as another of the same form; sizes and dtypes stay.
    pub fn take_layout(&mut self, other: &Val) {
        match (self, other) {
            (Val::Tensor(t), Val::Tensor(o)) if t.strides.len() == o.strides.len() => {
                t.strides.clone_from(&o.strides);
                t.offset = o.offset.clone();
            }
            (Val::List(l), Val::List(o)) => l.iter_mut().zip(o).for_each(|(v, o)| v.take_layout(o)),
            _ => {}
        }
    }
    /// Calls `f` on every symbolic number in this value: sizes, then strides of tensors; numbers themselves.
    pub fn for_each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Val::Tensor(t) => t.sizes.iter().chain(&t.strides).for_each(f),
            Val::Int(e) | Val::Float(e) | Val::Bool(e) => f(e),
            Val::List(l) => l.iter().for_each(|v| v.for_each_expr(f)),
            _ => {}
        }
    }
    /// Whether there is a tensor in this value.
    pub fn has_tensors(&self) -> bool {
        match self {
            Val::Tensor(_) => true,
            Val::List(l) => l.iter().any(Val::has_tensors),
            _ => false,
        }
    }
    /// All tensors in this value, in order.
    pub fn tensors(&self) -> Vec<&Fake> {
        match self {
            Val::Tensor(t) => vec![t],
            Val::List(l) => l.iter().flat_map(Val::tensors).collect(),
            _ => Vec::new(),
        }
    }
}

impl From<Fake> for Val {
    fn from(t: Fake) -> Val {
        Val::Tensor(t)
    }
}

/// `f32[s0, 4]`: the annotation of FX text.
impl fmt::Display for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype.short())?;
        for (i, s) in self.sizes.iter().enumerate() {
            write!(f, "{}{s}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

/// A device: `cpu`, `cuda:0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    /// `cpu`, `cuda`, `meta`, …
    pub kind: Arc<str>,
    /// The index, where the program names one.
    pub index: Option<i64>,
}

impl Device {
    /// The CPU.
    pub fn cpu() -> Device {
        static CPU: LazyLock<Arc<str>> = LazyLock::new(|| "cpu".into());
        Device { kind: CPU.clone(), index: None }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(i) => write!(f, "{}:{i}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

/// `torch.memory_format`; the numbers are those of the program JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryFormat {
    /// `torch.contiguous_format`
    Contiguous = 1,
    /// `torch.channels_last`
    ChannelsLast = 2,
    /// `torch.channels_last_3d`
    ChannelsLast3d = 3,
    /// `torch.preserve_format`
    Preserve = 4,
}

/// `torch.layout`; the numbers are those of the program JSON. oxport computes strided tensors only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryLayout {
    /// `torch.sparse_coo`
    SparseCoo = 1,
    /// `torch.sparse_csr`
    SparseCsr = 2,
    /// `torch.sparse_csc`
    SparseCsc = 3,
    /// `torch.sparse_bsr`
    SparseBsr = 4,
    /// `torch.sparse_bsc`
    SparseBsc = 5,
    /// `torch._mkldnn`
    Mkldnn = 6,
    /// `torch.strided`
    Strided = 7,
}

impl MemoryFormat {
    /// All formats.
    pub const ALL: [MemoryFormat; 4] =
        [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d, MemoryFormat::Preserve];
    /// The format of a program JSON code.
    pub fn from_code(code: i64) -> Option<MemoryFormat> {
        MemoryFormat::ALL.into_iter().find(|m| *m as i64 == code)
    }
    /// PyTorch's name without `torch.`.
    pub fn name(self) -> &'static str {
        match self {
            MemoryFormat::Contiguous => "contiguous_format",
            MemoryFormat::ChannelsLast => "channels_last",
            MemoryFormat::ChannelsLast3d => "channels_last_3d",
            MemoryFormat::Preserve => "preserve_format",
        }
    }
}

impl MemoryLayout {
    /// All layouts.
    pub const ALL: [MemoryLayout; 7] = [
        MemoryLayout::SparseCoo,
        MemoryLayout::SparseCsr,
        MemoryLayout::SparseCsc,
        MemoryLayout::SparseBsr,
        MemoryLayout::SparseBsc,
        MemoryLayout::Mkldnn,
        MemoryLayout::Strided,
    ];
    /// The layout of a program JSON code.
    pub fn from_code(code: i64) -> Option<MemoryLayout> {
        MemoryLayout::ALL.into_iter().find(|m| *m as i64 == code)
    }
    /// PyTorch's name without `torch.`.
    pub fn name(self) -> &'static str {
        match self {
            MemoryLayout::SparseCoo => "sparse_coo",
            MemoryLayout::SparseCsr => "sparse_csr",
            MemoryLayout::SparseCsc => "sparse_csc",
            MemoryLayout::SparseBsr => "sparse_bsr",
            MemoryLayout::SparseBsc => "sparse_bsc",
            MemoryLayout::Mkldnn => "_mkldnn",
            MemoryLayout::Strided => "strided",
        }
    }
}
