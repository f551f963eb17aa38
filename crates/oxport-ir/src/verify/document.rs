//! What verifies can be written, is read again as it was, and is taken by `torch.export.load`.
//!
//! The program JSON cannot say everything that a graph can hold, and PyTorch's loader (`deserialize_*` of its
//! `torch/_export/serde/serialize.py`, then its verifier) does not take everything that the JSON can say. What neither
//! can say is an error here, at its node; what the writer arranges (constants among inputs, results that nobody takes,
//! a program that does not say how it is called) is none.
//!
//! Not said: an operator that PyTorch knows only once its library is imported (`unknown-op` warns), and a string among
//! the outputs, which PyTorch writes itself but does not load.

use super::Check;
use super::metadata::{self, Judged};
use crate::schema::Type;
use crate::{Argument, Device, Fake, Node, NodeId, NodeKind, NodeMeta, Op, Val};

pub(super) fn check(c: &mut Check<'_>) {
    subgraph_names(c);
    let mut judged = Judged::default();
    for (id, node) in c.graph.nodes() {
        metadata::check(c, node, &mut judged);
        let problems = match &node.kind {
            NodeKind::Placeholder => placeholder(node),
            NodeKind::CallFunction(op) if op.is_getitem() => getitem(c, node),
            NodeKind::CallFunction(op) => call(c, node, op),
            NodeKind::Output => outputs(c, node),
            NodeKind::GetAttr(_) => None,
        };
        let metas = node.val().and_then(meta);
        let whole = taken_whole(c, id, node);
        for message in problems.into_iter().chain(metas).chain(whole) {
            c.node_error("document", &node.name, message);
        }
    }
}

/// Subgraphs become modules of PyTorch's, under their names.
fn subgraph_names(c: &mut Check<'_>) {
    for name in c.graph.subgraphs.keys() {
        let message = if !super::structure::is_identifier(name) {
            format!("the name of the subgraph `{name}` is no identifier")
        } else if MODULE_ATTRIBUTES.split(' ').any(|attribute| attribute == &**name) {
            format!("a module of PyTorch's has an attribute `{name}`, so that no subgraph can have this name")
        } else {
            let bearer = c.graph.find(name).map(|id| &c.graph.node(id).kind);
            match bearer {
                None => continue,
                Some(NodeKind::GetAttr(own)) if own == name => continue,
                Some(_) => format!("the subgraph `{name}` and a value have one name"),
            }
        };
        c.node_error("document", name, message);
    }
}

/// The public attributes that `torch.nn.Module` has of itself.
const MODULE_ATTRIBUTES: &str = "\
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double \
    dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule \
    half ipu load_state_dict modules mtia named_buffers named_children named_modules named_parameters \
    parameters register_backward_hook register_buffer register_forward_hook register_forward_pre_hook \
    register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook \
    register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook \
    register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory state_dict to \
    to_empty train training type xpu zero_grad";

type Problem = Option<String>;

fn placeholder(node: &Node) -> Problem {
    if !node.args.is_empty() {
        return Some(format!("the default of `{}` cannot be written: the program JSON has no defaults", node.name));
    }
    match node.val()? {
        Val::Float(x) if x.as_float().is_none() => {
            Some("an input is a symbolic float, which PyTorch does not load".into())
        }
        Val::Bool(b) if b.as_bool().is_none() => {
            Some("an input is a symbolic bool, which PyTorch does not load".into())
        }
        Val::List(_) => Some("an input is a list; each of its values has to be an input".into()),
        _ => None,
    }
}

fn getitem(c: &Check<'_>, node: &Node) -> Problem {
    match node.getitem() {
        Some((of, _)) if node.kwargs.is_empty() => {
            let (of, is_call) = (c.graph.node(of), c.graph.node(of).op().is_some());
            (!is_call && of.val().is_none()).then(|| format!("`{}` is no tuple or list", of.name))
        }
        _ => Some("getitem: expected a node and an index, and nothing else".to_string()),
    }
}

/// A multiple result is named by those that take its elements; nobody can take it whole.
fn taken_whole(c: &Check<'_>, id: NodeId, node: &Node) -> Problem {
    let Some(Val::List(_)) = node.val() else { return None };
    let whole = |user: &&NodeId| c.graph.node(**user).op().is_none_or(|op| !op.is_getitem());
    let user = c.graph.users(id).keys().find(whole)?;
    Some(format!("`{}` uses this multiple result as a whole", c.graph.node(*user).name))
}

/// What a tensor's meta must be for PyTorch to make an empty tensor of it.
fn meta(val: &Val) -> Problem {
    val.tensors().into_iter().find_map(tensor)
}

fn tensor(t: &Fake) -> Problem {
    /// The most dimensions that PyTorch's kernels take.
    const MOST_DIMS: usize = 64;
    let mut known = t.sizes.iter().filter_map(|s| s.as_int());
    if t.sizes.len() > MOST_DIMS {
        return Some(format!("a tensor of {} dimensions, but {MOST_DIMS} are the most", t.sizes.len()));
    }
    if known.clone().all(|n| n != 0) && known.try_fold(1i64, i64::checked_mul).is_none() {
        return Some(format!("{t} has more elements than 64 bits count"));
    }
    if t.requires_grad && !(t.dtype.is_float() || t.dtype.is_complex()) {
        return Some(format!("{t} requires a gradient, but only floating and complex tensors can"));
    }
    device(&t.device)
}

/// The kinds of device that PyTorch knows by itself, or that are known to take the place of `privateuseone`.
const DEVICES: &str = "\
    cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia \
    privateuseone npu mlu musa";

fn device(d: &Device) -> Problem {
    if !DEVICES.split(' ').any(|kind| kind == &*d.kind) {
        return Some(format!("there is no kind of device `{}`", d.kind.escape_debug()));
    }
    d.index.filter(|i| *i < 0).map(|i| format!("a device has the negative index {i}"))
}

fn call(c: &Check<'_>, node: &Node, op: &Op) -> Problem {
    if op.schema().is_none()
        && op.def().is_none()
        && !op.is_higher_order()
        && !op.is_python()
        && op.intrinsic().is_none()
    {
        let parts = || op.target().split('.').map(str::to_string).collect::<Vec<_>>();
        let is_word = |part: &String| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if parts().len() != 5 || !parts().iter().all(is_word) {
            return Some(format!("`{}` cannot be the name of an operator", op.target().escape_debug()));
        }
    }
    results(node, op).or_else(|| arguments(c, node, op))
}

/// What a call gives can be named, and is read again as it was.
fn results(node: &Node, op: &Op) -> Problem {
    let val = node.val()?;
    let schema = op.schema().filter(|_| !op.is_higher_order());
    let wrong = |what: &str| Some(format!("{what}, but {} is recorded", super::compare::article(val)));
    match (schema.map(|s| &*s.returns), val) {
        (_, Val::Str(_) | Val::Object(_)) | (Some(_), Val::Token) => wrong("a call gives no such value"),
        (Some([]), Val::None) => None,
        (Some([]), _) => wrong("the operator gives nothing"),
        (Some([only]), Val::List(items)) if matches!(only.ty, Type::List(..)) => list(items),
        (Some([only]), _) if matches!(only.ty, Type::List(..)) => wrong("the operator gives a list"),
        (Some([_]), Val::List(_)) => wrong("the operator gives one value"),
        (Some(returns), Val::List(items)) if returns.len() > 1 => match items.len() == returns.len() {
            true => items.iter().find_map(element),
            false => wrong(&format!("the operator gives {} values", returns.len())),
        },
        (Some(returns), _) if returns.len() > 1 => wrong(&format!("the operator gives {} values", returns.len())),
        // PyTorch names the results of its functions on numbers as numbers.
        (None, Val::Int(_) | Val::Float(_) | Val::Bool(_)) if op.is_on_numbers() => None,
        (None, _) if op.is_on_numbers() => wrong("the function gives a number"),
        (None, Val::Int(_) | Val::Float(_) | Val::Bool(_)) if op.is_higher_order() => {
            wrong("a higher-order operator gives a tensor or a tuple")
        }
        (None, Val::List(items)) => match &items[..] {
            [] => wrong("a call gives at least one value, or None"),
            // PyTorch writes some dictionaries of tensors as one list.
            _ if node.meta.extra(NodeMeta::TENSOR_LIST).is_some() => list(items),
            [Val::None | Val::List(_)] => wrong("the only value of a tuple is a tensor or a number"),
            [_] if !op.is_higher_order() => wrong("a function gives one value, or a tuple of several"),
            items => items.iter().find_map(element),
        },
        _ => None,
    }
}

/// A list of results is one of tensors, and not empty.
fn list(items: &[Val]) -> Problem {
    match items.iter().find(|item| !matches!(item, Val::Tensor(_))) {
        Some(other) => Some(format!("a list of results holds {}", super::compare::article(other))),
        None if items.is_empty() => Some("a list of results is empty, which PyTorch does not load".into()),
        None => None,
    }
}

/// One of several results.
fn element(item: &Val) -> Problem {
    match item {
        Val::Bool(_) => Some("one of several results is a bool, which PyTorch does not load".into()),
        Val::Str(_) | Val::Object(_) => Some(format!("one of several results is {}", super::compare::article(item))),
        Val::List(items) if !items.is_empty() => list(items),
        _ => None,
    }
}

fn arguments(c: &Check<'_>, node: &Node, op: &Op) -> Problem {
    if op.is_on_numbers() && !node.kwargs.is_empty() {
        return Some("a function on numbers takes its arguments by position".into());
    }
    let place = |i: usize| match op.schema().filter(|_| !op.is_higher_order()).and_then(|s| s.args.get(i)) {
        Some(param) => format!("argument `{}`", param.name),
        None => format!("argument {i}"),
    };
    let positional = node.args.iter().enumerate().map(|(i, a)| (place(i), a));
    let named = node.kwargs.iter().map(|(name, a)| (format!("argument `{name}`"), a));
    // A schema's own names may be words of Python: `self`, `from`.
    let has_schema = op.schema().is_some_and(|s| !s.is_vararg);
    if let Some(name) = node.kwargs.keys().find(|name| !has_schema && !super::structure::is_identifier(name)) {
        return Some(format!("the argument name `{}` is no identifier", name.escape_debug()));
    }
    let mut all = positional.chain(named);
    all.find_map(|(place, a)| argument(c, a, true).map(|message| format!("{place}: {message}")))
}

/// What the document has no spelling for; a subgraph stands by itself.
fn argument(c: &Check<'_>, a: &Argument, is_whole: bool) -> Problem {
    match a {
        Argument::Node(id) if c.graph.subgraph_of(*id).is_some() => {
            (!is_whole).then(|| "a subgraph stands within a list or dictionary".to_string())
        }
        Argument::Node(id) => value(c, *id),
        Argument::Device(d) => device(d),
        Argument::Dict(items) => items.values().find_map(|item| argument(c, item, false)),
        Argument::List(items) => mixture(c, items),
        _ => None,
    }
}

/// A node that is used has a value that can be named, or is a constant. (A meta that is missing is reported at its
/// node.)
fn value(c: &Check<'_>, id: NodeId) -> Problem {
    let node = c.graph.node(id);
    let is_missing = match (&node.kind, node.val()) {
        (NodeKind::Placeholder, _) | (NodeKind::GetAttr(_), None) => false,
        (_, Some(val)) => matches!(val, Val::None | Val::Str(_)),
        (NodeKind::CallFunction(op), None) => match op.schema().filter(|_| !op.is_higher_order()) {
            Some(schema) => schema.returns.is_empty(),
            None => !super::structure::is_refused(c, op) && !super::structure::is_function(c, op),
        },
        (_, None) => true,
    };
    is_missing.then(|| format!("`{}` gives no value that can be used", node.name))
}

/// What an item of a list is to the document.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    None,
    Bool,
    Int,
    Float,
    Str,
    Tensor,
    SymBool,
    SymInt,
    SymFloat,
    Ints,
    Floats,
    Tensors,
    /// An empty list.
    Empty,
    Other,
}

fn item(c: &Check<'_>, a: &Argument) -> Item {
    match a {
        Argument::None => Item::None,
        Argument::Bool(_) => Item::Bool,
        Argument::Int(_) => Item::Int,
        Argument::Float(_) => Item::Float,
        Argument::Str(_) => Item::Str,
        Argument::Node(id) if c.graph.subgraph_of(*id).is_some() => Item::Other,
        Argument::Node(id) => match c.graph.node(*id).val() {
            Some(Val::Tensor(_) | Val::Token) => Item::Tensor,
            Some(Val::Int(_)) => Item::SymInt,
            Some(Val::Float(_)) => Item::SymFloat,
            Some(Val::Bool(_)) => Item::SymBool,
            Some(Val::None) if c.graph.node(*id).kind == NodeKind::Placeholder => Item::None,
            Some(Val::Str(_)) if c.graph.node(*id).kind == NodeKind::Placeholder => Item::Str,
            _ => Item::Other,
        },
        Argument::List(items) if items.is_empty() => Item::Empty,
        Argument::List(items) => {
            let all = |kind| items.iter().all(|a| item(c, a) == kind);
            match items.first().map(|a| item(c, a)) {
                Some(Item::Int) if all(Item::Int) => Item::Ints,
                Some(Item::Float) if all(Item::Float) => Item::Floats,
                Some(Item::Tensor) if all(Item::Tensor) => Item::Tensors,
                _ => Item::Other,
            }
        }
        _ => Item::Other,
    }
}

/// The mixtures of items that lists of the document can hold.
const MIXTURES: [&[Item]; 9] = [
    &[Item::Bool, Item::SymBool],
    &[Item::Int, Item::SymInt],
    &[Item::Float, Item::SymFloat],
    &[Item::Str],
    &[Item::Tensor, Item::None],
    &[Item::Tensor, Item::SymInt, Item::SymFloat, Item::SymBool],
    &[Item::Ints, Item::Empty],
    &[Item::Floats, Item::Empty],
    &[Item::Tensors, Item::Empty],
];

fn mixture(c: &Check<'_>, items: &[Argument]) -> Problem {
    let mut possible = MIXTURES;
    let mut left = possible.len();
    for a in items {
        let kind = item(c, a);
        let mut kept = 0;
        for i in 0..left {
            if possible[i].contains(&kind) {
                possible[kept] = possible[i];
                kept += 1;
            }
        }
        left = kept;
        if left == 0 {
            return Some("the list mixes kinds of values that the program JSON cannot mix".into());
        }
    }
    None
}

fn outputs(c: &Check<'_>, node: &Node) -> Problem {
    let is_top = c.path.is_empty();
    let wrong =
        |i: usize, what: &str| Some(format!("output {i} is {what}, which the program JSON has not as an output"));
    let all = node.args.iter().enumerate();
    let mut problems = all.filter_map(|(i, a)| match a {
        Argument::Node(id) if c.graph.subgraph_of(*id).is_some() => wrong(i, "a subgraph"),
        Argument::Node(id) => value(c, *id).or_else(|| match c.graph.node(*id).val() {
            Some(Val::Bool(b)) if is_top && b.as_bool().is_none() => wrong(i, "a symbolic bool"),
            Some(Val::Object(_)) => wrong(i, "an object"),
            _ => None,
        }),
        Argument::Str(_) if !is_top => wrong(i, "a string"),
        Argument::None | Argument::Int(_) | Argument::Float(_) | Argument::Bool(_) | Argument::Str(_) => None,
        _ => wrong(i, "neither a value nor a plain constant"),
    });
    let bare = match c.graph.outputs() {
        [only] if c.graph.is_single_return && !is_top && only.as_node().is_none() => {
            Some("a subgraph returns a bare constant".to_string())
        }
        _ => None,
    };
    problems.next().or(bare)
}
