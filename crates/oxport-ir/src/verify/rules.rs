//! The rules of the verifier, in one table: what `docs/diagnostics.md` is made from.

use std::fmt::Write as _;

/// A rule: what its diagnostics have in common.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable word in `error[code]`.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why that is wrong, and what exactly is checked.
    pub explanation: &'static str,
    /// A piece of a program that breaks the rule.
    pub example: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// True if the program keeps its meaning.
    pub is_warning: bool,
}

const fn rule(
    code: &'static str,
    title: &'static str,
    explanation: &'static str,
    example: &'static str,
    fix: &'static str,
) -> Rule {
    Rule { code, title, explanation, example, fix, is_warning: false }
}

const fn warning(rule: Rule) -> Rule {
    Rule { is_warning: true, ..rule }
}

/// All rules, in the order of the page.
pub static RULES: &[Rule] = &[
    rule(
        "order",
        "a value is used before it is computed",
        "Nodes stand in the order in which they run. A node may use only values of nodes before it in its own graph; \
        a subgraph sees nothing but its placeholders.",
        "relu = torch.ops.aten.relu.default(y)   # y is computed below",
        "Move the node that computes the value up, or let the user use another value.",
    ),
    rule(
        "name",
        "a name is no Python identifier",
        "PyTorch generates Python code from a graph, so every node is named by an identifier that is no keyword, nor \
        `self`.",
        "add.1 = torch.ops.aten.add.Tensor(x, x)",
        "Rename the node: letters, digits and underscores, not beginning with a digit.",
    ),
    rule(
        "placement",
        "inputs and output are not where they belong",
        "Placeholders stand before all other nodes, and exactly one output node stands at the end.",
        "a placeholder after a call",
        "Move the placeholder to the top; append the missing output node.",
    ),
    rule(
        "default",
        "the default of an input cannot be one",
        "An input of the user may have a default, which it is where a call leaves it out: one constant that fits the \
        input's meta value. Inputs without a default stand before those with one, as in Python. What the program \
        lifts has none.",
        "def forward(self, y: \"Sym(s0)\" = 'three'):",
        "Take the default away, or give one that the input can be.",
    ),
    rule(
        "no-meta",
        "a node has no meta value",
        "Placeholders and calls that return something carry the fake value they had at capture; shapes, dtypes and \
        plans come from it, and the names of what a higher-order operator gives.",
        "relu = torch.ops.aten.relu.default(x)   # no f32[…]",
        "`oxport verify --fix` infers it from the arguments.",
    ),
    rule(
        "target",
        "a call's target is not allowed",
        "An exported program calls registered operators with an overload, higher-order operators, and a short list of \
        Python functions on numbers. Anything else, operator packets too, PyTorch refuses to load.",
        "load = torch.load(x)",
        "Name the operator and its overload: `torch.ops.aten.add.Tensor`.",
    ),
    warning(rule(
        "unknown-op",
        "an operator is not known here",
        "The operator is of a foreign namespace. It can be kept and written, but not checked or run, unless its \
        definition is registered.",
        "torch.ops.my_ns.my_op.default(x)",
        "Register an `OpDef` for it (docs/add-an-op.md).",
    )),
    rule(
        "document",
        "the program cannot be written, or PyTorch would not load it",
        "What verifies can be written, is read again as it was, and is taken by `torch.export.load`. The program JSON \
        has no lists of mixed kinds, subgraphs in lists, or uses of a multiple result as a whole; PyTorch does not \
        load symbolic floats and bools among inputs, bools among several results, empty lists of results, gradients \
        of integers, devices that it does not know, or subgraphs named like a method of its modules.",
        "torch.ops.aten.upsample_nearest2d.vec(x, None, [2, 2.0])   # an int and a float in one list",
        "Write the value in one of the forms that a document has; the diagnostic says which part of the call it is.",
    ),
    rule(
        "metadata",
        "metadata that PyTorch does not load",
        "PyTorch parses `nn_module_stack`, `source_fn_stack`, `from_node` and `custom` of every node when it loads, \
        and fails on what it did not write.",
        "nn_module_stack: \"L__self__,\"   # key, path and type are wanted",
        "Correct the text, or drop the key: metadata means nothing to the program.",
    ),
    rule(
        "dialect",
        "the dialect does not exist",
        "`verifiers` names the dialect of a program: ATEN (functional) or TRAINING. PyTorch knows no others.",
        "\"verifiers\": [\"CORE\"]",
        "Write `[\"ATEN\"]` or `[\"TRAINING\"]`.",
    ),
    rule(
        "mutation",
        "a functional program writes to a tensor",
        "In the ATEN dialect no operator writes to its arguments; new values of buffers and inputs are outputs.",
        "torch.ops.aten.add_.Tensor(x, 1)   # in a program of dialect ATEN",
        "`oxport decompose --to functional` makes a program functional; or declare the dialect TRAINING.",
    ),
    rule(
        "alias",
        "a call writes to memory that it may not",
        "A call may not write to an expanded tensor, several of whose elements are one place in memory; PyTorch \
        refuses that when it runs.",
        "expand: \"f32[4, 3]\" = …expand(x, [4, 3]); …add_(expand, 1)",
        "Clone the tensor before it is written to.",
    ),
    rule(
        "attribute",
        "a get_attr names no subgraph",
        "`get_attr` nodes stand for the subgraphs of higher-order operators; the graph must hold one of that name.",
        "true_graph_0 = self.true_graph_0   # there is none",
        "Add the subgraph, or drop the node.",
    ),
    rule(
        "arguments",
        "arguments do not fit the operator's schema",
        "Every argument is known to the schema, given once, of the schema's type, and none that has no default is \
        missing. All misfits of a call are reported, each at its argument.",
        "torch.ops.aten.permute.default(x, 1.5)",
        "Compare with the schema in the note; `oxport ops NAME` prints it with its doc.",
    ),
    rule(
        "refused",
        "the operator refuses its arguments",
        "Sizes, dtypes or dimensions do not go together, so the call would fail when run: PyTorch's own checks, made \
        by the operator's meta function.",
        "torch.ops.aten.mm.default(a, b)   # f32[2, 3] and f32[4, 5]",
        "Look at the producers of the arguments; one of them has the wrong shape or dtype.",
    ),
    rule(
        "meta",
        "the recorded meta is not what the operator yields",
        "Every call's meta is inferred again from the metas of its arguments, and compared: kind of value, number of \
        results, dtype, and sizes modulo the algebra of symbols. PyTorch does not check this.",
        "relu: \"f32[2, 4]\" = torch.ops.aten.relu.default(x)   # x is f32[2, 3]",
        "If the call is right, `oxport verify --fix` records what it yields.",
    ),
    warning(rule(
        "unrecorded",
        "a number that nothing reads is not recorded",
        "`torch.export` puts a number that it knows, such as `item()` of a constant tensor, in the place of its every \
        use, and records nothing of it at the call. The program runs here; `torch.export.load` does not take it.",
        "item = torch.ops.aten.item.default(c_lifted_tensor_0)",
        "`oxport optimize` drops the call.",
    )),
    rule(
        "stride",
        "the recorded strides are impossible",
        "There are as many strides as sizes, none negative; what is no view is dense in some order of its dimensions; \
        a view has the strides that its input's imply, at capture at least where a size that varies was 1 there; a \
        stored tensor has those of its placeholder.",
        "strides (7, 1) for the result f32[2, 3] of relu",
        "`oxport verify --fix` records the inferred ones.",
    ),
    rule(
        "device",
        "devices do not agree",
        "A call's tensors are on one device (0-d CPU tensors aside), its result is there too, or where its `device` \
        argument says; a stored tensor is where its placeholder says.",
        "add of x on cpu and y on cuda:0",
        "Correct the device in the meta, or insert a `_to_copy`.",
    ),
    rule(
        "getitem",
        "there is no such element",
        "`getitem` picks an element of a tuple or list by its index.",
        "getitem = split[2]   # split has two elements",
        "Correct the index.",
    ),
    rule(
        "subgraph",
        "a subgraph does not fit its higher-order operator",
        "Operands and placeholders agree in number, kind, dtype and shape; a loop's condition gives one bool; a \
        loop's body gives values like those it carries; the branches of a `cond` or `switch` give values of the same \
        kinds.",
        "cond(p, true_graph_0, false_graph_0, [x])   # true_graph_0 takes two",
        "Compare the operands with the subgraph's placeholders; the position of the operand stands in the diagnostic.",
    ),
    rule(
        "signature",
        "signature and graph do not agree",
        "There is one spec for every input and output; lifted inputs are tensors, constants are the constants that \
        the spec says; nothing is lifted twice; what is mutated exists, and is mutated once.",
        "mul: BUFFER_MUTATION target='count'   # there is no buffer `count`",
        "Correct the spec at the position that the diagnostic gives.",
    ),
    rule(
        "state",
        "a stored tensor is not what its placeholder says",
        "Parameters and persistent buffers are in the state dict, other buffers and constants among the constants; \
        each is of the kind, dtype and shape that its placeholder has.",
        "p_w: PARAMETER target='w'   # no `w` in the state dict",
        "Store the tensor under the name of the spec, or correct the spec.",
    ),
    rule(
        "output-order",
        "outputs are in the wrong order",
        "Tokens come first, then new values of buffers, parameters and inputs, then what the user gets.",
        "mul: USER_OUTPUT, then mul: BUFFER_MUTATION target='b'",
        "Reorder graph outputs and output specs together.",
    ),
    rule(
        "output-value",
        "a new value is not like what it replaces",
        "The new value of a buffer, parameter or input has its dtype and shape; a gradient has those of what it is \
        the gradient of.",
        "b_count: \"i64[]\", its new value is f32[3]",
        "Return another value, or correct the spec's target.",
    ),
    rule(
        "tree",
        "a tree spec does not fit the signature",
        "The tree of inputs is a pair of positional and keyword arguments with a leaf for every user input; the tree \
        of outputs has a leaf for every user output; the argument names of `forward` are as many, and end with the \
        keywords.",
        "in_spec has 3 leaves, the signature 2 user inputs",
        "Correct the spec in the first entry of the module call graph.",
    ),
    rule(
        "module-call",
        "the module call graph does not fit",
        "The first entry is the program itself, no module has two entries, and the values that a module's kept \
        signature names are in the top graph.",
        "module `sub` is called with `add_7`, which is not in the graph",
        "Rename the value back, or drop the module's signature: `oxport verify --fix`.",
    ),
    rule(
        "range",
        "a range constraint is impossible",
        "A range is not empty and contains the value at capture; a size's range has no negative numbers; the range of \
        a derived size is what its symbols' ranges give.",
        "s0: VR[8, 4]",
        "Correct the bounds; widen them to include the value at capture.",
    ),
    rule(
        "hint",
        "values at capture contradict each other",
        "A file gives with every expression the value that it had at capture; these agree with the values of the \
        symbols.",
        "2*s0 with the hint 7 where s0 has the hint 4",
        "Correct the hint of the expression.",
    ),
    rule(
        "symbol",
        "a symbol is used that nothing binds",
        "Backed symbols are bound by a size or number of an input, data-dependent ones by the call whose result \
        depends on data (`item`, `nonzero`, …). A symbol is bound before it is used.",
        "relu: \"f32[s1]\" = …relu(x)   # no input has the size s1",
        "Use the symbol of the input's size; or let the node that makes the symbol stand before.",
    ),
    warning(rule(
        "dangling",
        "something is stored that nothing uses",
        "A stored tensor that no input is lifted from, or a range of a symbol that no meta has. The program means the \
        same without it.",
        "`old_weight` is stored, but no input is lifted from it",
        "`oxport verify --fix` drops it.",
    )),
];

/// The page `docs/diagnostics.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# Diagnostics of the verifier\n\nMade from the table in `crates/oxport-ir/src/verify/rules.rs`; `just bless` \
        writes it anew.\n\n`oxport verify PROGRAM` prints `error[code]: message` under the guilty line; with \
        `--json`, a list of\n`{code, severity, at, message, notes}`. `at` is a place: `node relu`, `node \
        body_graph_0:add argument other`,\n`input 2`, `output 0`, `state w`, `range s0`, `program`. Warnings leave a \
        program valid.\n\n| code | what is wrong |\n|---|---|\n",
    );
    for r in RULES {
        let _ =
            writeln!(out, "| [`{0}`](#{0}) | {1}{2} |", r.code, r.title, if r.is_warning { " (warning)" } else { "" });
    }
    for r in RULES {
        let _ = write!(
            out,
            "\n## {}\n\n**{}.** {}\n\n```text\n{}\n```\n\nHow to fix it: {}\n",
            r.code,
            capitalized(r.title),
            r.explanation,
            r.example,
            r.fix
        );
    }
    out
}

fn capitalized(s: &str) -> String {
    let mut chars = s.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
