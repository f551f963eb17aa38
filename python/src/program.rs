//! [`Program`]: a program in Python, callable as the module that was exported.
//!
//! Laws: a program is planned at its first call, once; calls of a program without mutable buffers run at the same time,
//! others one after the other; the GIL is released while a call runs, and no lock is waited for while it is held.

use crate::errors::{self, raise, raise_call, usage};
use crate::operators::{Operator, Rule};
use crate::ready::{Ready, lock, set_buffers, storages};
use crate::tensor::{self, Tensor};
use crate::trees::{self, Arguments};
use crate::{fake, records};
use oxport::compare::Tolerance;
use oxport::info::Port;
use oxport::rewrite::cost::{Model, Target};
use oxport::trace::Trace;
use oxport::{ExportedProgram, InputChecks, Limits, Module, Opt, Plan, PlanOptions, Toolchain};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A program: what `torch.export` exported, or what was made of it.
#[pyclass(frozen, module = "oxport", name = "Program", weakref)]
pub(crate) struct Program {
    toolchain: Toolchain,
    settings: Settings,
    program: Mutex<Arc<ExportedProgram>>,
    ready: Mutex<Option<Arc<Ready>>>,
    /// What the optimization that made it reported.
    report: Option<serde_json::Value>,
}

/// How a program is planned.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) opt: Opt,
    pub(crate) options: PlanOptions,
}

/// The time limit of a validation.
const VALIDATION: Duration = Duration::from_secs(20);

/// An optimization level by its name.
pub(crate) fn level(name: &str) -> PyResult<Opt> {
    Opt::from_name(name).ok_or_else(|| usage(format!("expected \"none\", \"exact\" or \"fast\", got {name:?}")))
}

/// How strictly inputs are checked, by its name.
pub(crate) fn checks(name: &str) -> PyResult<InputChecks> {
    InputChecks::from_name(name).ok_or_else(|| usage(format!("expected \"torch\" or \"strict\", got {name:?}")))
}

impl Program {
    pub(crate) fn new(program: ExportedProgram, toolchain: Toolchain, settings: Settings) -> Program {
        let program = Mutex::new(Arc::new(program));
        Program { toolchain, settings, program, ready: Mutex::new(None), report: None }
    }
    /// The program as it is now.
    pub(crate) fn exported(&self) -> Arc<ExportedProgram> {
        lock(&self.program).clone()
    }
    /// The operators and rules.
    pub(crate) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }
    /// Takes another program, which is planned at the next call.
    pub(crate) fn replace(&self, program: ExportedProgram) {
        *lock(&self.program) = Arc::new(program);
        *lock(&self.ready) = None;
    }
    /// Another program with the same operators and settings.
    fn derived(&self, program: ExportedProgram) -> Program {
        Program::new(program, self.toolchain.clone(), self.settings.clone())
    }
    fn ready(&self, py: Python<'_>) -> PyResult<Arc<Ready>> {
        if let Ok(ready) = self.ready.try_lock()
            && let Some(ready) = &*ready
        {
            return Ok(ready.clone());
        }
        py.detach(|| {
            let mut ready = lock(&self.ready);
            if let Some(ready) = &*ready {
                return Ok(ready.clone());
            }
            let made = Arc::new(Ready::new(self.plan()?));
            *ready = Some(made.clone());
            Ok(made)
        })
        .map_err(raise)
    }
    fn plan(&self) -> oxport::Result<Plan> {
        let program = self.toolchain.prepare(&self.exported(), self.settings.opt)?;
        self.toolchain.plan(&program, &self.settings.options)
    }
    fn ports<'py>(&self, py: Python<'py>, ports: &[Port]) -> PyResult<Bound<'py, PyList>> {
        let one = |port: &Port| {
            let val = port.val.as_ref().map(|v| fake::value(py, v)).transpose()?;
            py.import("oxport.ports")?.getattr("Port")?.call1((&port.key, &port.path, val, port.is_constant))
        };
        PyList::new(py, ports.iter().map(one).collect::<PyResult<Vec<_>>>()?)
    }
}

#[pymethods]
impl Program {
    /// Calls the program as the module that was exported: positional and keyword arguments with the same structure.
    ///
    /// Arrays are read in place. Results are tensors of PyTorch if an argument is one, else arrays of NumPy (or
    /// `oxport.Tensor`, where NumPy is missing or has no such dtype). Buffers that the program writes keep their new
    /// values; inputs that it writes are written.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ready = self.ready(py)?;
        let mut given = Arguments::new(py);
        let inputs = ready.inputs(args, kwargs, &mut given)?;
        let ids = storages(&inputs);
        let outputs = ready.call(py, inputs)?;
        ready.result(py, outputs, &given, &ids)
    }
    /// Calls the program with a flat list of inputs, in the order of `inputs`, and gives the flat list of results: for
    /// tools that know nothing of the caller's classes.
    fn call_flat<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        let ready = self.ready(py)?;
        let mut given = Arguments::new(py);
        let flat = inputs.iter().map(|x| given.tree(x, None).map(|t| t.into_flat().0));
        let flat: Vec<_> = flat.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect();
        let ids = storages(&flat);
        let outputs = ready.call(py, flat)?;
        let user = ready.written(py, outputs, &given, &ids)?;
        PyList::new(py, user.into_iter().map(|v| trees::leaf(py, v, given.library)).collect::<PyResult<Vec<_>>>()?)
    }
    /// Every value that a call computes, by the name of its node.
    #[pyo3(signature = (*args, **kwargs))]
    fn intermediates<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ready = self.ready(py)?;
        let mut given = Arguments::new(py);
        let inputs = ready.inputs(args, kwargs, &mut given)?;
        let record = || Trace::record(ready.module.plan(), &inputs, &|_| true);
        let (trace, _) = py.detach(record).map_err(raise)?;
        let dict = PyDict::new(py);
        for (name, traced) in trace.nodes {
            dict.set_item(name, trees::leaf(py, traced.value, given.library)?)?;
        }
        Ok(dict)
    }
    /// Runs this program and another on the same arguments, and compares the values that both compute, with the keys of
    /// `oxport compare --json`.
    #[pyo3(signature = (other, *args, rtol = None, atol = None, **kwargs))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        other: &Program,
        args: &Bound<'py, PyTuple>,
        rtol: Option<f64>,
        atol: Option<f64>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let usual = Tolerance::default();
        let tolerance = match (rtol, atol) {
            (None, None) => usual,
            (rtol, atol) => Tolerance::Elementwise { rtol: rtol.unwrap_or(0.0), atol: atol.unwrap_or(0.0) },
        };
        let (first, second) = (self.ready(py)?, other.ready(py)?);
        let inputs = first.inputs(args, kwargs, &mut Arguments::new(py))?;
        let work = || -> oxport::Result<_> {
            let all = |ready: &Ready| Ok::<_, oxport::Error>(Trace::record(ready.module.plan(), &inputs, &|_| true)?.0);
            let (expected, got) = (all(&first)?, all(&second)?);
            let names = oxport::difference::same_nodes(&self.exported(), &other.exported());
            let got = got.renamed(&names, &expected);
            Ok(expected.compare(&got, tolerance))
        };
        let found = py.detach(work).map_err(raise)?;
        records::object(py, &oxport::json::comparison(&found))
    }
    /// Calls the program with these buffers, and leaves its own as they are: the result, and the buffers after the
    /// call.
    ///
    /// `state` has the buffers that the program writes by name, as `buffers()` gives them; those that it leaves out
    /// have the program's own values.
    #[pyo3(signature = (state, args = None, kwargs = None))]
    fn functional_call<'py>(
        &self,
        py: Python<'py>,
        state: &Bound<'py, PyDict>,
        args: Option<&Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let ready = self.ready(py)?;
        let mut given = Arguments::new(py);
        let empty = PyTuple::empty(py);
        let inputs = ready.inputs(args.unwrap_or(&empty), kwargs, &mut given)?;
        let ids = storages(&inputs);
        let mut module = ready.module.clone();
        set_buffers(&mut module, state)?;
        let (outputs, after) = py
            .detach(|| {
                let outputs = module.call_flat(inputs)?;
                let after = module.buffers().map(|(name, t)| (name.clone(), t.clone())).collect::<Vec<_>>();
                Ok((outputs, after))
            })
            .map_err(raise_call)?;
        let dict = PyDict::new(py);
        for (name, t) in after {
            dict.set_item(&*name, trees::array(py, t, given.library)?)?;
        }
        Ok((ready.result(py, outputs, &given, &ids)?, dict))
    }
    /// Verifies and plans the program now, instead of at the first call.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        self.ready(py).map(drop)
    }
    /// A program with buffers of its own that shares the plan and the weights: one for each thread or session.
    fn fork(&self, py: Python<'_>) -> PyResult<Program> {
        let ready = self.ready(py)?;
        let plan = ready.module.plan().clone();
        let state = ready.state.as_ref().map(|_| Mutex::new(Module::new(plan)));
        let forked = Ready { module: ready.module.clone(), state };
        let own = Program::new((*self.exported()).clone(), self.toolchain.clone(), self.settings.clone());
        *lock(&own.ready) = Some(Arc::new(forked));
        Ok(own)
    }
    /// The buffers that calls write, as they are now.
    fn buffers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ready = self.ready(py)?;
        let now = py.detach(|| match &ready.state {
            None => Vec::new(),
            Some(state) => lock(state).buffers().map(|(name, t)| (name.clone(), t.clone())).collect(),
        });
        let dict = PyDict::new(py);
        now.into_iter().try_for_each(|(name, t)| dict.set_item(&*name, Tensor::new(t)))?;
        Ok(dict)
    }
    /// Gives buffers that calls write other values.
    fn set_buffers(&self, py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let ready = self.ready(py)?;
        let mut module = py.detach(|| ready.state.as_ref().map_or_else(|| ready.module.clone(), |s| lock(s).clone()));
        set_buffers(&mut module, state)?;
        if let Some(own) = &ready.state {
            py.detach(|| *lock(own) = module);
        }
        Ok(())
    }
    /// Gives the buffers the program's own values again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let ready = self.ready(py)?;
        py.detach(|| ready.state.iter().for_each(|s| lock(s).reset()));
        Ok(())
    }
    /// Parameters and persistent buffers by name, as the file has them: read-only, in place.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, state) in &self.exported().state {
            dict.set_item(&**name, Tensor::new(state.tensor.clone()))?;
        }
        Ok(dict)
    }
    /// What a call takes: a list of `oxport.Port`.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ports(py, &oxport::info::inputs(&self.exported()))
    }
    /// What a call gives: a list of `oxport.Port`.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ports(py, &oxport::info::outputs(&self.exported()))
    }
    /// The graph, to be edited as with `torch.fx`; the same object each time.
    #[getter]
    fn graph<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("oxport.fx")?.getattr("_graph")?.call1((slf,))
    }
    /// Takes the edits of `graph`, after the whole program was checked.
    fn recompile(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.py().import("oxport.fx")?.getattr("_recompile")?.call1((slf,)).map(drop)
    }
    /// The report of the optimization that made this program, else None.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.report.as_ref().map(|r| records::object(py, r)).transpose()
    }
    /// What the program is, with the keys of `oxport info --json`.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let program = self.exported();
        let found = py.detach(|| oxport::info::info(&self.toolchain, &program, &Default::default()));
        records::object(py, &oxport::json::info(&program, &found))
    }
    /// All problems of the program: a list of `oxport.Diagnostic`, empty if it is valid.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let program = self.exported();
        errors::diagnostics(py, &py.detach(|| self.toolchain.verify(&program)))
    }
    /// The program as text: `readable` as PyTorch prints it, `fx`, `whole` (reads back as the same program), `python`
    /// (the source of a module) or `json`.
    #[pyo3(signature = (format = "readable"))]
    fn show(&self, format: &str) -> PyResult<String> {
        let program = self.exported();
        Ok(match format {
            "readable" => oxport::print::readable(&program),
            "fx" => oxport::print::fx(&program.graph) + "\n",
            "whole" => oxport::print::whole(&program),
            "python" => oxport::pt2::python::module(&program).map_err(|e| raise(e.into()))?,
            "json" => oxport::pt2::to_json(&program).map_err(|e| raise(e.into()))?,
            other => {
                return Err(usage(format!("expected readable, fx, whole, python or json, got {other:?}")));
            }
        })
    }
    /// The program that equality saturation finds: `rules` are `exact` (the same bits) or `fast` (may round otherwise).
    ///
    /// `report` of the result says what was done. `freeze` takes weights for constants. `further` are rules of yours.
    /// `validate` runs both programs on drawn inputs, and fails if they differ.
    #[pyo3(signature = (rules = "exact", *, target = "cpu", freeze = false, grow = 0.05, node_limit = None,
        time_limit = None, further = Vec::new(), validate = false))]
    fn optimize(
        &self,
        py: Python<'_>,
        rules: &str,
        target: &str,
        freeze: bool,
        grow: f64,
        node_limit: Option<usize>,
        time_limit: Option<f64>,
        further: Vec<PyRef<'_, Rule>>,
        validate: bool,
    ) -> PyResult<Program> {
        let opt = match level(rules)? {
            Opt::None => return Err(usage("rules: expected \"exact\" or \"fast\", got \"none\"")),
            opt => opt,
        };
        let target = match target {
            "cpu" => Target::Cpu,
            "aten" => Target::Aten,
            _ => return Err(usage(format!("target: expected \"cpu\" or \"aten\", got {target:?}"))),
        };
        let time = time_limit.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|_| usage("time_limit: expected a number of seconds"))?;
        if !(0.0..=1e4).contains(&grow) {
            return Err(usage("grow: expected a part of the program's size, from 0 on"));
        }
        let model = Model { target, frozen: freeze, ..Model::default() };
        let defaults = Limits::default();
        let limits = Limits { model, grow, time, nodes: node_limit.unwrap_or(defaults.nodes), ..defaults };
        let further: Vec<_> = further.iter().map(|r| r.0).collect();
        let toolchain = self.toolchain.with_rules(&further).map_err(raise)?;
        let program = self.exported();
        let work = || -> oxport::Result<_> {
            let start = toolchain.functional_for(&program, target)?;
            let (better, report) = toolchain.optimize(&start, opt, &limits)?;
            let limits = oxport::ReadLimits::default();
            let compare = || oxport::validate::validate(&toolchain, [&program, &better], opt, &limits, VALIDATION);
            let validation = validate.then(compare).transpose()?;
            Ok((better, report, validation))
        };
        let (better, report, validation) = py.detach(work).map_err(raise)?;
        if let Some(v) = validation.as_ref().filter(|v| !v.is_agreement()) {
            return Err(raise(oxport::Error::rewrite(format!("the optimized program differs: {v}"))));
        }
        let report = Some(oxport::json::optimization(&report, validation.as_ref()));
        Ok(Program { report, ..self.derived(better) })
    }
    /// The functional program (`to="functional"`), or the one in Core ATen (`to="core"`).
    #[pyo3(signature = (to = "core"))]
    fn decompose(&self, py: Python<'_>, to: &str) -> PyResult<Program> {
        let program = self.exported();
        let made = match to {
            "core" => py.detach(|| self.toolchain.decompose(&program)),
            "functional" => py.detach(|| self.toolchain.functionalize(&program)),
            _ => return Err(usage(format!("expected \"core\" or \"functional\", got {to:?}"))),
        };
        Ok(self.derived(made.map_err(raise)?))
    }
    /// Writes the program, by the suffix of the path: `.pt2`, or `.json` with `.safetensors` next to it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let program = self.exported();
        py.detach(|| oxport::write(&program, &path)).map_err(raise)
    }
    /// The bytes of the `.pt2` archive, which `torch.export.load` reads.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let program = self.exported();
        let bytes = py.detach(|| oxport::pt2::write_pt2_bytes(&program)).map_err(|e| raise(e.into()))?;
        Ok(PyBytes::new(py, &bytes))
    }
    /// Inputs drawn at random that the program takes, as a list of flat arguments in the order of `inputs`.
    #[pyo3(signature = (seed = 0))]
    fn random_inputs<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyList>> {
        let program = self.exported();
        let limits = oxport::ReadLimits::default();
        let drawn = py.detach(|| oxport::random_inputs::generate_inputs(&program, seed, &limits)).map_err(raise)?;
        let all =
            drawn.into_iter().map(|v| trees::leaf(py, v, tensor::Library::Other)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, all)
    }
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("oxport.notebook")?.call_method1("program", (slf,))
    }
    fn __str__(&self) -> String {
        oxport::print::readable(&self.exported())
    }
    fn __repr__(&self) -> String {
        let program = self.exported();
        let (inputs, outputs) = (oxport::info::inputs(&program).len(), oxport::info::outputs(&program).len());
        let nodes = program.graph.len();
        format!("<oxport.Program: {nodes} nodes, {inputs} inputs, {outputs} outputs>")
    }
}

/// The operators of Python and the standard ones.
pub(crate) fn toolchain(operators: &[PyRef<'_, Operator>]) -> PyResult<Toolchain> {
    match operators {
        [] => Ok(Toolchain::standard().clone()),
        some => Toolchain::standard().with_operators(some.iter().map(|o| o.operator())).map_err(raise),
    }
}
