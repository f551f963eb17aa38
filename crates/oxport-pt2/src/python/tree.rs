//! Containers of inputs and outputs as Python.

use super::{is_identifier, unsupported};
use oxport_ir::Result;
use oxport_ir::print::{python_float, python_str};
use oxport_pytree::{Key, Kind, PathEntry, Tree};
use std::collections::HashMap;

/// The classes that the source defines for named tuples and dataclasses.
#[derive(Default)]
pub(super) struct Types {
    /// Their definitions, as lines.
    pub(super) definitions: Vec<String>,
    names: HashMap<(String, Vec<String>), String>,
}

impl Types {
    /// The name of the class with these fields, defined where it is not yet.
    fn define(&mut self, registered: &str, fields: &[String], is_tuple: bool) -> Result<String> {
        let key = (registered.to_string(), fields.to_vec());
        if let Some(name) = self.names.get(&key) {
            return Ok(name.clone());
        }
        if !fields.iter().all(|f| is_identifier(f)) {
            return Err(unsupported(format!("a container of type `{registered}`")));
        }
        let name = self.free_name(registered)?;
        let stem = registered.rsplit(['.', ':']).next().unwrap_or_default();
        let shown = python_str(registered);
        if is_tuple {
            let fields: Vec<String> = fields.iter().map(|f| python_str(f)).collect();
            let list = fields.join(", ");
            self.definitions.push(format!("{name} = collections.namedtuple({}, [{list}])", python_str(stem)));
            let register = "torch.utils._pytree._register_namedtuple";
            self.definitions.push(format!("{register}({name}, serialized_type_name={shown})"));
        } else {
            self.definitions.extend(["", "", "@dataclasses.dataclass"].map(String::from));
            self.definitions.push(format!("class {name}:"));
            self.definitions.extend(fields.iter().map(|f| format!("    {f}: object = None")));
            if fields.is_empty() {
                self.definitions.push("    pass".into());
            }
            self.definitions.extend([String::new(), String::new()]);
            let register = format!("torch.export.register_dataclass({name}, serialized_type_name={shown})");
            self.definitions.push(register);
        }
        self.names.insert(key, name.clone());
        Ok(name)
    }

    /// The name of a class that stands for a type of the user's, of which only children and context are known.
    fn stand_in(&mut self, registered: &str) -> Result<String> {
        let key = (registered.to_string(), Vec::new());
        if let Some(name) = self.names.get(&key) {
            return Ok(name.clone());
        }
        let name = self.free_name(registered)?;
        let text = [
            "",
            "",
            "class NAME:",
            "    # Stands for a type that is registered under the name below: its children, and its context as JSON.",
            "    def __init__(self, children, context):",
            "        self.children, self.context = children, context",
            "",
            "    def __getitem__(self, index):",
            "        return self.children[index]",
            "",
            "",
            "torch.utils._pytree.register_pytree_node(",
            "    NAME,",
            "    lambda node: (node.children, node.context),",
            "    lambda children, context: NAME(list(children), context),",
            "    serialized_type_name=TYPE,",
            "    to_dumpable_context=json.loads,",
            "    from_dumpable_context=json.dumps,",
            ")",
        ];
        let shown = python_str(registered);
        self.definitions.extend(text.map(|line| line.replace("NAME", &name).replace("TYPE", &shown)));
        self.names.insert(key, name.clone());
        Ok(name)
    }
    /// A name for a class that is registered so.
    fn free_name(&self, registered: &str) -> Result<String> {
        let stem = registered.rsplit(['.', ':']).next().unwrap_or_default();
        if !is_identifier(stem) {
            return Err(unsupported(format!("a container of type `{registered}`")));
        }
        let is_free = |name: &String| !self.names.values().any(|n| n == name) && name != "Program";
        let names = std::iter::once(stem.to_string()).chain((1..).map(|i| format!("{stem}_{i}")));
        Ok(names.into_iter().find(is_free).unwrap_or_default())
    }

    /// A tree with these texts at its leaves.
    pub(super) fn value(&mut self, tree: &Tree<String>) -> Result<String> {
        let kind = match tree {
            Tree::Leaf(text) => return Ok(text.clone()),
            Tree::Node(kind, _) => kind,
        };
        let items = tree.children().iter().map(|t| self.value(t)).collect::<Result<Vec<String>>>()?;
        let list = items.join(", ");
        let entries = |keys: &[Key]| -> Result<String> {
            let pair = |(k, v): (&Key, &String)| Ok(format!("{}: {v}", key(k)?));
            Ok(keys.iter().zip(&items).map(pair).collect::<Result<Vec<String>>>()?.join(", "))
        };
        Ok(match &**kind {
            Kind::Tuple if items.len() == 1 => format!("({list},)"),
            Kind::Tuple => format!("({list})"),
            Kind::List | Kind::ImmutableList => format!("[{list}]"),
            Kind::Dict(keys) | Kind::ImmutableDict(keys) => format!("{{{}}}", entries(keys)?),
            Kind::OrderedDict(keys) => format!("collections.OrderedDict({{{}}})", entries(keys)?),
            Kind::DefaultDict { module, name, keys } if module == "builtins" && is_identifier(name) => {
                format!("collections.defaultdict({name}, {{{}}})", entries(keys)?)
            }
            Kind::Deque { maxlen } => {
                let bound = maxlen.map_or("None".to_string(), |n| n.to_string());
                format!("collections.deque([{list}], {bound})")
            }
            Kind::NamedTuple { name, fields: Some(fields) } => {
                format!("{}({list})", self.define(name, fields, true)?)
            }
            Kind::Dataclass { name, fields, none } => {
                let all: Vec<String> = fields.iter().chain(none).cloned().collect();
                let class = self.define(name, &all, false)?;
                let given = fields.iter().zip(&items).map(|(f, v)| format!("{f}={v}"));
                format!("{class}({})", given.collect::<Vec<_>>().join(", "))
            }
            Kind::Size => format!("torch.Size([{list}])"),
            Kind::ReturnType(name) if is_identifier(name) => format!("torch.return_types.{name}(({list}))"),
            Kind::Custom { name, context, .. } => {
                format!("{}([{list}], {})", self.stand_in(name)?, python_str(context))
            }
            Kind::DefaultDict { .. } | Kind::NamedTuple { .. } | Kind::ReturnType(_) => {
                return Err(unsupported(format!("a container of type `{}`", kind.type_name())));
            }
        })
    }
}

/// What leads from a value to a leaf of it: `['a'][0].b`.
pub(super) fn access(path: &[PathEntry]) -> Result<String> {
    path.iter()
        .map(|entry| match entry {
            PathEntry::Index(i) => Ok(format!("[{i}]")),
            PathEntry::Key(k) => Ok(format!("[{}]", key(k)?)),
            PathEntry::Attr(field) if is_identifier(field) => Ok(format!(".{field}")),
            PathEntry::Attr(field) => Err(unsupported(format!("a field called `{field}`"))),
        })
        .collect()
}

fn key(key: &Key) -> Result<String> {
    Ok(match key {
        Key::Str(s) => python_str(s),
        Key::Int(n) => n.to_string(),
        Key::Float(x) => python_float(*x),
        Key::Bool(b) => if *b { "True" } else { "False" }.to_string(),
        Key::None => "None".to_string(),
        Key::Tuple(items) => {
            let items = items.iter().map(self::key).collect::<Result<Vec<String>>>()?;
            if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) }
        }
        Key::Enum { fqn, name } => return Err(unsupported(format!("the key {fqn}.{name} of a dict"))),
    })
}
