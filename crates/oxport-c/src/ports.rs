//! [`Ports`]: the descriptions of inputs, outputs or buffers, for C and as JSON.
//!
//! Laws: a port's pointers lead to memory of its [`Ports`], which nothing changes; keys are those of tensor files
//! (`in.0`, `out.0`, `mut.NAME`, `inmut.0`).

#![forbid(unsafe_code)]

use crate::border::Frozen;
use crate::error::text;
use crate::value::{OxportKind, OxportPort, OxportRole};
use oxport::info::Port;
use oxport::ir::InputKind;
use oxport::serde_json::{Value, json};
use oxport::{ExportedProgram, Plan, Val};
use std::ffi::{CString, c_char};
use std::ptr::null;

/// A number of ports, with the texts that they lead to.
pub(crate) struct Ports {
    all: Frozen<OxportPort>,
    json: Vec<Value>,
    keys: Vec<String>,
    /// What the pointers of `all` lead to.
    _texts: Vec<CString>,
    _sizes: Vec<Vec<i64>>,
    _size_texts: Vec<Frozen<*const c_char>>,
}

impl Ports {
    /// The user's inputs, in order.
    pub(crate) fn inputs(program: &ExportedProgram) -> Ports {
        Ports::of(oxport::info::inputs(program).into_iter().map(|port| (OxportRole::Input, port)).collect())
    }

    /// The results of a functional program, in order.
    pub(crate) fn outputs(program: &ExportedProgram) -> Ports {
        let role = |port: &Port| match port.key.split('.').next() {
            Some("mut") => OxportRole::Buffer,
            Some("inmut") => OxportRole::MutatedInput,
            _ => OxportRole::Output,
        };
        Ports::of(oxport::info::outputs(program).into_iter().map(|port| (role(&port), port)).collect())
    }

    /// The buffers of a program, and whatever else its calls change.
    pub(crate) fn buffers(program: &ExportedProgram, plan: &Plan) -> Ports {
        let mut found: Vec<(OxportRole, Port)> = Vec::new();
        let mut add = |role, name: &str, fake: oxport::Fake| {
            let key = format!("mut.{name}");
            if found.iter().all(|(_, port)| port.key != key) {
                let val = Some(Val::Tensor(fake));
                found.push((role, Port { key, path: name.to_string(), val, is_constant: false }));
            }
        };
        for state in plan.state() {
            add(OxportRole::Buffer, &state.name, oxport::Fake::of(&state.initial));
        }
        for spec in &program.signature.inputs {
            if let (InputKind::Buffer { name, .. }, Some(state)) = (&spec.kind, program.lifted(&spec.kind)) {
                add(OxportRole::ConstantBuffer, name, oxport::Fake::of(&state.tensor));
            }
        }
        Ports::of(found)
    }

    fn of(ports: Vec<(OxportRole, Port)>) -> Ports {
        let (mut texts, mut sizes, mut size_texts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut all, mut json, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        // A text keeps its place in memory when the list of texts grows.
        let mut keep = |kept: &str| {
            texts.push(text(kept));
            texts.last().map_or(null(), |kept: &CString| kept.as_ptr())
        };
        for (role, port) in ports {
            json.push(record(role, &port));
            let mut view = OxportPort {
                key: keep(&port.key),
                path: keep(&port.path),
                role: role as i32,
                kind: kind(port.val.as_ref()) as i32,
                dtype: 0,
                rank: 0,
                sizes: null(),
                size_texts: null(),
                device: null(),
                constant: null(),
            };
            if let Some(Val::Tensor(fake)) = &port.val {
                let numbers: Vec<i64> = fake.sizes.iter().map(|size| size.as_int().unwrap_or(-1)).collect();
                let written: Vec<*const c_char> = fake.sizes.iter().map(|size| keep(&size.to_string())).collect();
                view.dtype = i32::from(fake.dtype.code());
                view.rank = numbers.len();
                (view.sizes, view.size_texts) = (numbers.as_ptr(), written.as_ptr());
                view.device = keep(&fake.device.to_string());
                sizes.push(numbers);
                size_texts.push(Frozen::new(written));
            }
            if let (true, Some(value)) = (port.is_constant, &port.val) {
                view.constant = keep(&constant(value));
            }
            all.push(view);
            keys.push(port.key);
        }
        Ports { all: Frozen::new(all), json, keys, _texts: texts, _sizes: sizes, _size_texts: size_texts }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.get().len()
    }
    pub(crate) fn get(&self, index: usize) -> Option<&OxportPort> {
        self.all.get().get(index)
    }
    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }
    pub(crate) fn json(&self) -> &[Value] {
        &self.json
    }
}

fn kind(val: Option<&Val>) -> OxportKind {
    match val {
        Some(Val::Tensor(_)) => OxportKind::Tensor,
        Some(Val::Int(_)) => OxportKind::Int,
        Some(Val::Float(_)) => OxportKind::Float,
        Some(Val::Bool(_)) => OxportKind::Bool,
        Some(Val::Str(_)) => OxportKind::Str,
        Some(Val::None) => OxportKind::None,
        Some(Val::List(_) | Val::Token | Val::Object(_)) | None => OxportKind::Other,
    }
}

fn constant(val: &Val) -> String {
    match val {
        // As Python prints it.
        Val::Float(e) if let Some(x) = e.as_float() => oxport::Value::Float(x).to_string(),
        Val::Int(e) | Val::Float(e) | Val::Bool(e) => e.to_string(),
        Val::Str(s) => s.to_string(),
        Val::None => "None".to_string(),
        other => format!("{other:?}"),
    }
}

/// A port as `oxport info --json` prints it, with the role, and the device of a tensor.
fn record(role: OxportRole, port: &Port) -> Value {
    let role = match role {
        OxportRole::Input => "input",
        OxportRole::Output => "output",
        OxportRole::Buffer => "buffer",
        OxportRole::MutatedInput => "mutated_input",
        OxportRole::ConstantBuffer => "constant_buffer",
    };
    let mut record = oxport::json::port(port);
    record["role"] = json!(role);
    if let Some(Val::Tensor(fake)) = &port.val {
        record["device"] = json!(fake.device.to_string());
    }
    record
}
