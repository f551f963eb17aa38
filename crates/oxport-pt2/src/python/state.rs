//! The tensors of a program as `__init__` and `load_state_dict`.

use super::{is_identifier, unsupported};
use oxport_ir::print::argument_with;
use oxport_ir::print::python_str;
use oxport_ir::{Argument, Constant, Device, ExportedProgram, InputKind, Result, StateTensor};
use oxport_tensor::Layout;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How a module holds a tensor.
#[derive(Clone, Copy)]
enum Role {
    Parameter,
    Buffer { persistent: bool },
    Constant,
}

/// The lines of `__init__` and `load_state_dict`; none where the program has no tensors.
pub(super) fn state(program: &ExportedProgram) -> Result<Vec<String>> {
    let tensors = tensors(program)?;
    if tensors.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = vec!["def __init__(self):".to_string(), "    super().__init__()".to_string()];
    let within = modules(&tensors);
    let mut made: HashMap<&str, usize> = HashMap::new();
    let mut modules: HashSet<&str> = HashSet::new();
    let names: HashSet<&str> = tensors.iter().map(|(name, ..)| &***name).collect();
    let mut owners: Vec<(&Arc<str>, &StateTensor)> = Vec::new();
    for &(name, tensor, role) in &tensors {
        if tensor.subclass.is_some() {
            return Err(unsupported(format!("`{name}`, a tensor of a Python class of its own,")));
        }
        // The modules on the way, each once.
        for (at, _) in name.match_indices('.') {
            let path = &name[..at];
            if names.contains(path) {
                return Err(unsupported(format!("`{name}`, which lies within the tensor `{path}`,")));
            }
            let next = made.entry(parent_of(path)).or_default();
            let siblings = within.get(parent_of(path)).map_or(&[][..], Vec::as_slice);
            while let Some(module) = siblings.get(*next).filter(|_| !modules.contains(path)) {
                let (parent, last) = place(module);
                lines.push(format!("    {parent}.add_module({}, torch.nn.Module())", python_str(last)));
                modules.insert(module);
                *next += 1;
            }
        }
        let (parent, last) = place(name);
        if last.is_empty() {
            return Err(unsupported(format!("a tensor called `{name}`")));
        }
        let shared = owners.iter().find_map(|(owner, of)| Some((*owner, view(of, tensor)?)));
        let grad = if tensor.requires_grad { "" } else { ", requires_grad=False" };
        let value = match (&shared, role) {
            // The very tensor: tied.
            (Some((owner, None)), _) if same_role(&tensors, owner, role) => path(owner),
            (Some((owner, view)), _) => {
                let owner = format!("{}.detach(){}", path(owner), view.as_deref().unwrap_or_default());
                if matches!(role, Role::Parameter) { format!("torch.nn.Parameter({owner}{grad})") } else { owner }
            }
            (None, Role::Parameter) => format!("torch.nn.Parameter({}{grad})", empty(tensor)),
            (None, _) => empty(tensor),
        };
        if shared.is_none() {
            owners.push((name, tensor));
        }
        let last = python_str(last);
        lines.push(match role {
            Role::Parameter => format!("    {parent}.register_parameter({last}, {value})"),
            Role::Buffer { persistent: true } => format!("    {parent}.register_buffer({last}, {value})"),
            Role::Buffer { persistent: false } => {
                format!("    {parent}.register_buffer({last}, {value}, persistent=False)")
            }
            Role::Constant => format!("    setattr({parent}, {last}, {value})"),
        });
    }
    lines.push(String::new());
    lines.push("def load_state_dict(self, state_dict, strict=True, assign=False):".to_string());
    lines.push("    # All tensors of the program, constants too; of those that share their storage, the first.".into());
    let list: Vec<String> = owners.iter().map(|(name, _)| format!("        {},", python_str(name))).collect();
    lines.extend(["    for name in (".to_string()].into_iter().chain(list));
    lines.extend(
        [
            "    ):",
            "        if name in state_dict:",
            "            with torch.no_grad():",
            "                functools.reduce(getattr, name.split(\".\"), self).copy_(state_dict[name])",
            "        elif strict:",
            "            raise KeyError(f\"the state dict has no tensor {name!r}\")",
            "",
        ]
        .map(String::from),
    );
    Ok(lines)
}

/// The tensors, those that the graph takes first, in its order.
fn tensors(program: &ExportedProgram) -> Result<Vec<(&Arc<str>, &StateTensor, Role)>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for spec in &program.signature.inputs {
        let (name, role) = match &spec.kind {
            InputKind::Parameter(name) => (name, Role::Parameter),
            InputKind::Buffer { name, persistent } => (name, Role::Buffer { persistent: *persistent }),
            InputKind::TensorConstant(name) => (name, Role::Constant),
            InputKind::CustomObj { name, class } => {
                return Err(unsupported(format!("`{name}`, an object of {class},")));
            }
            InputKind::Token => return Err(unsupported("an effect token")),
            InputKind::UserInput | InputKind::ConstantInput(_) => continue,
        };
        let tensor = program.lifted(&spec.kind).ok_or_else(|| unsupported(format!("`{name}`, which is missing,")))?;
        if seen.insert(name.clone()) {
            found.push((name, tensor, role));
        }
    }
    for (name, tensor) in program.state.iter().filter(|(name, _)| !seen.contains(*name)) {
        let role = if tensor.is_param { Role::Parameter } else { Role::Buffer { persistent: true } };
        found.push((name, tensor, role));
    }
    let rest = program.constants.iter().filter(|(name, _)| !seen.contains(*name) && !program.state.contains_key(*name));
    for (name, constant) in rest {
        if let Constant::Tensor(tensor) = constant {
            found.push((name, tensor, Role::Constant));
        }
    }
    Ok(found)
}

/// The modules in each module, in an order in which PyTorch finds the parameters, and then the buffers, in theirs.
fn modules<'a>(tensors: &[(&'a Arc<str>, &StateTensor, Role)]) -> HashMap<&'a str, Vec<&'a str>> {
    let mut within: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut known = HashSet::new();
    for parameters in [true, false] {
        let names = tensors.iter().filter(|(.., role)| matches!(role, Role::Parameter) == parameters);
        let paths = names.flat_map(|&(name, ..)| name.match_indices('.').map(|(at, _)| &name[..at]));
        // What is new stands before the next that is known, or at the end.
        let mut new: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut before: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut seen = HashSet::new();
        for path in paths.filter(|path| seen.insert(*path)) {
            let new = new.entry(parent_of(path)).or_default();
            match known.contains(path) {
                true => drop(before.insert(path, std::mem::take(new))),
                false => new.push(path),
            }
        }
        for modules in within.values_mut() {
            let merged = modules.iter().flat_map(|m| before.remove(m).into_iter().flatten().chain([*m]));
            *modules = merged.collect();
        }
        for (parent, rest) in new {
            within.entry(parent).or_default().extend(rest);
        }
        known.extend(seen);
    }
    within
}

/// The path of the module that a module is in.
fn parent_of(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// Whether the tensor of that name is held in the same way, as a parameter or as a buffer: then both are one object.
fn same_role(tensors: &[(&Arc<str>, &StateTensor, Role)], name: &Arc<str>, role: Role) -> bool {
    let owner = tensors.iter().find(|(n, ..)| *n == name).map(|(.., role)| *role);
    matches!((owner, role), (Some(Role::Parameter), Role::Parameter) | (Some(Role::Buffer { .. }), Role::Buffer { .. }))
}

/// How a tensor is seen through another one in whose storage it lies: as it is, or by a call behind it. `None` if it
/// does not lie there.
fn view(of: &StateTensor, tensor: &StateTensor) -> Option<Option<String>> {
    let (a, b) = (&of.tensor, &tensor.tensor);
    if !a.storage().same_storage(b.storage()) || a.dtype() != b.dtype() || a.numel() == 0 || b.numel() == 0 {
        return None;
    }
    let (a, b) = (a.layout(), b.layout());
    if a == b {
        return Some(None);
    }
    // The owner is made anew, and its first element is then the first of a storage.
    let offset = b.offset.checked_sub(a.offset)?;
    let is_within = is_dense(a) && last(b) <= last(a);
    let text = format!(".as_strided({:?}, {:?}, {offset})", b.sizes.as_slice(), b.strides.as_slice());
    is_within.then_some(Some(text))
}

/// The place of the last element in the storage.
fn last(layout: &Layout) -> i64 {
    let steps = layout.sizes.iter().zip(&layout.strides).map(|(n, s)| (n - 1) * s);
    layout.offset as i64 + steps.sum::<i64>()
}

fn is_dense(layout: &Layout) -> bool {
    last(layout) - layout.offset as i64 + 1 == layout.sizes.iter().product::<i64>()
}

fn is_contiguous(layout: &Layout) -> bool {
    let mut expected = 1;
    layout.sizes.iter().zip(&layout.strides).rev().all(|(n, s)| {
        let fits = *n == 1 || *s == expected;
        expected *= (*n).max(1);
        fits
    })
}

/// A tensor of the same form, without the data.
pub(super) fn empty(tensor: &StateTensor) -> String {
    empty_of(tensor.tensor.layout(), tensor.tensor.dtype().name(), &tensor.device)
}

/// A tensor of this form. What is laid out otherwise than contiguous is dense or has gaps, and is not filled.
pub(super) fn empty_of(layout: &Layout, dtype: &str, device: &Device) -> String {
    let mut options = format!("dtype=torch.{dtype}");
    if *device != Device::cpu() {
        let printed = argument_with(&|_| String::new(), &Argument::Device(device.clone()));
        options += &format!(", device={printed}");
    }
    let sizes = layout.sizes.as_slice();
    match is_contiguous(layout) || sizes.contains(&0) {
        true => format!("torch.zeros({sizes:?}, {options})"),
        false => format!("torch.empty_strided({sizes:?}, {:?}, {options})", layout.strides.as_slice()),
    }
}

/// The module that holds what is called so, and its name there.
fn place(name: &str) -> (String, &str) {
    match name.rsplit_once('.') {
        Some((parent, last)) => (path(parent), last),
        None => ("self".to_string(), name),
    }
}

/// What is called so, as an expression: `self.layers.get_submodule("0")` has no attribute syntax, `getattr` does.
pub(super) fn path(name: &str) -> String {
    name.split('.').fold("self".to_string(), |at, part| match is_identifier(part) {
        true => format!("{at}.{part}"),
        false => format!("getattr({at}, {})", python_str(part)),
    })
}
