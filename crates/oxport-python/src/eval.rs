//! Expressions.

use crate::error::R;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::{
    Argument, BinOp, Clause, Comprehension, ComprehensionKind, Expr, ExprKind, FormatPart, UnaryOp,
};
use crate::torch::branch::Decision;
use crate::value::{Args, Name, Scope, Value};
use std::rc::Rc;

impl Interp {
    /// The value of an expression.
    ///
    /// # Errors
    /// What the program raises.
    pub fn eval(&mut self, frame: &mut Frame, expr: &Expr) -> R<Value> {
        match &expr.kind {
            ExprKind::Constant(value) => Ok(value.clone()),
            ExprKind::Name(name) => {
                frame.pos = expr.pos;
                let value = self.load(frame, name)?;
                self.usable(value)
            }
            _ => {
                let value = self.deeper(|i| i.eval_operation(frame, expr))?;
                self.usable(value)
            }
        }
    }

    /// A value, unless it is one on which branches did not agree, or that is not there.
    pub(crate) fn usable(&self, value: Value) -> R<Value> {
        if let Value::Host(host) = &value {
            if let Some(reason) = host.refusal() {
                return self.raise("RuntimeError", reason);
            }
            if let Some(unwind) = host.unavailable() {
                return Err(unwind);
            }
        }
        Ok(value)
    }

    fn eval_operation(&mut self, frame: &mut Frame, expr: &Expr) -> R<Value> {
        match &expr.kind {
            ExprKind::Attribute(value, name) => {
                let value = self.eval(frame, value)?;
                frame.pos = expr.pos;
                self.get_attr(&value, name)
            }
            ExprKind::Call(callee, arguments) => self.eval_call(frame, expr, callee, arguments),
            ExprKind::Subscript(value, index) => {
                let value = self.eval(frame, value)?;
                let index = self.eval(frame, index)?;
                frame.pos = expr.pos;
                self.get_item(&value, &index)
            }
            ExprKind::Binary(left, op, right) => {
                let left = self.eval(frame, left)?;
                let right = self.eval(frame, right)?;
                frame.pos = expr.pos;
                self.note_place(frame);
                self.binary(&left, *op, &right)
            }
            ExprKind::Unary(op, value) => {
                let value = self.eval(frame, value)?;
                frame.pos = expr.pos;
                if *op != UnaryOp::Not {
                    return self.unary(*op, &value);
                }
                match self.decision(&value)? {
                    Decision::Known(is) => Ok(Value::Bool(!is)),
                    Decision::Open(test) => self.not(&test),
                }
            }
            ExprKind::Compare(first, rest) => {
                let left = self.eval(frame, first)?;
                self.comparisons(frame, expr.pos, left, rest)
            }
            ExprKind::Bool(is_and, items) => self.connected(frame, *is_and, items),
            ExprKind::If(body, test, orelse) => self.conditional(frame, test, body, orelse),
            _ => self.eval_display(frame, expr),
        }
    }

    /// Displays, comprehensions and the rest.
    fn eval_display(&mut self, frame: &mut Frame, expr: &Expr) -> R<Value> {
        match &expr.kind {
            ExprKind::Tuple(items) => {
                let items = self.eval_items(frame, items)?;
                self.new_tuple(items)
            }
            ExprKind::List(items) => {
                let items = self.eval_items(frame, items)?;
                self.new_list(items)
            }
            ExprKind::Set(items) => {
                let items = self.eval_items(frame, items)?;
                Ok(Value::Set(self.make_set(items)?))
            }
            ExprKind::Dict(items) => {
                let map = crate::dict::Shared::default();
                for (key, value) in items {
                    match key {
                        Some(key) => {
                            let key = self.eval(frame, key)?;
                            let value = self.eval(frame, value)?;
                            self.dict_set(&map, key, value)?;
                        }
                        None => {
                            let value = self.eval(frame, value)?;
                            self.update_dict(&map, &value)?;
                        }
                    }
                }
                Ok(Value::Dict(map))
            }
            ExprKind::Slice(start, stop, step) => {
                let mut parts = [Value::None, Value::None, Value::None];
                for (part, expr) in parts.iter_mut().zip([start, stop, step]) {
                    if let Some(expr) = expr {
                        *part = self.eval(frame, expr)?;
                    }
                }
                Ok(Value::Slice(Rc::new(parts)))
            }
            ExprKind::Lambda(code) => self.make_function(frame, code),
            ExprKind::Named(name, value) => {
                let value = self.eval(frame, value)?;
                self.store(frame, name, value.clone());
                Ok(value)
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(frame, comprehension),
            ExprKind::Generator(code, first) => {
                let iterable = self.eval(frame, first)?;
                let iter = self.iter(&iterable)?;
                let function = self.make_function(frame, code)?;
                self.call(&function, Args::of([iter]))
            }
            ExprKind::Format(parts) => {
                let text = self.format_parts(frame, parts)?;
                self.new_str(text)
            }
            ExprKind::Starred(_) => self.raise("SyntaxError", "cannot use starred expression here"),
            _ => self.raise("SyntaxError", "'yield' is not supported here"),
        }
    }

    fn eval_items(&mut self, frame: &mut Frame, items: &[Expr]) -> R<Vec<Value>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match &item.kind {
                ExprKind::Starred(inner) => {
                    let iterable = self.eval(frame, inner)?;
                    values.extend(self.collect(&iterable)?);
                }
                _ => values.push(self.eval(frame, item)?),
            }
        }
        Ok(values)
    }

    fn format_parts(&mut self, frame: &mut Frame, parts: &[FormatPart]) -> R<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                FormatPart::Text(part) => text.push_str(part),
                FormatPart::Value { value, conversion, spec } => {
                    let value = self.eval(frame, value)?;
                    let value = match conversion {
                        Some('s') => Value::Str(self.str(&value)?),
                        Some(_) => Value::Str(self.repr(&value)?.as_str().into()),
                        None => value,
                    };
                    let spec = self.format_parts(frame, spec)?;
                    text.push_str(&self.format(&value, &spec)?);
                }
            }
        }
        Ok(text)
    }

    fn eval_call(&mut self, frame: &mut Frame, expr: &Expr, callee: &Expr, arguments: &[Argument]) -> R<Value> {
        // `super()` takes the class and the first argument from the frame.
        if let (ExprKind::Name(name), true) = (&callee.kind, arguments.is_empty()) {
            if &**name == "super" {
                return self.plain_super(frame);
            }
            if matches!(&**name, "locals" | "vars") {
                return self.locals(frame);
            }
            if &**name == "globals" {
                return Ok(crate::view::NamespaceView::value(Value::Module(frame.globals.clone())));
            }
        }
        let function = self.eval(frame, callee)?;
        let args = self.arguments(frame, arguments)?;
        frame.pos = expr.pos;
        self.note_place(frame);
        self.tick()?;
        self.call(&function, args)
    }

    /// Notes where the innermost call is.
    fn note_place(&mut self, frame: &Frame) {
        if let Some(place) = self.places.last_mut().filter(|place| place.frame == frame.id) {
            place.pos = frame.pos;
        }
    }

    fn locals(&mut self, frame: &Frame) -> R<Value> {
        let vars = match &frame.scope {
            Some(scope) => scope.vars.borrow().clone(),
            None => frame.globals.dict.borrow().clone(),
        };
        self.namespace_dict(&vars)
    }

    /// A dict of a namespace's names.
    pub fn namespace_dict(&mut self, names: &crate::value::Namespace) -> R<Value> {
        let items: Vec<_> = names.iter().map(|(k, v)| (Value::Str(k.clone()), v.clone())).collect();
        Ok(Value::Dict(self.make_dict(items)?))
    }

    fn plain_super(&mut self, frame: &Frame) -> R<Value> {
        let class = frame.class_cell.as_ref().and_then(|cell| cell.borrow().clone());
        // The function's scope, which a comprehension may be in.
        let mut scope = frame.scope.clone();
        while let Some(s) = &scope {
            if let Some(first) = s.code.params.first()
                && s.code.kind == crate::syntax::tree::ScopeKind::Function
            {
                let this = s.vars.borrow().get(&first.name).cloned();
                if let (Some(class), Some(this)) = (class, this) {
                    return Ok(Value::Super(Rc::new((class, this))));
                }
                break;
            }
            scope = s.parent.clone();
        }
        self.raise("RuntimeError", "super(): no arguments")
    }

    /// The values of a call's arguments.
    pub(crate) fn arguments(&mut self, frame: &mut Frame, arguments: &[Argument]) -> R<Args> {
        let mut args = Args { pos: Vec::with_capacity(arguments.len()), kw: Vec::new() };
        for argument in arguments {
            match argument {
                Argument::Positional(value) => args.pos.push(self.eval(frame, value)?),
                Argument::Star(value) => {
                    let value = self.eval(frame, value)?;
                    args.pos.extend(self.collect(&value)?);
                }
                Argument::Keyword(name, value) => args.kw.push((name.clone(), self.eval(frame, value)?)),
                Argument::DoubleStar(value) => {
                    let value = self.eval(frame, value)?;
                    for (key, value) in self.mapping_items(&value)? {
                        let Value::Str(key) = key.plain() else { return self.type_error("keywords must be strings") };
                        if args.kw.iter().any(|(k, _)| *k == key) {
                            return self.type_error(format!("got multiple values for keyword argument '{key}'"));
                        }
                        args.kw.push((key, value));
                    }
                }
            }
        }
        Ok(args)
    }

    /// The frame of a scope within another one.
    fn comprehension(&mut self, frame: &mut Frame, c: &Comprehension) -> R<Value> {
        let iterable = self.eval(frame, &c.clauses[0].iter)?;
        let scope = Scope { vars: Default::default(), parent: frame.closure(), code: c.code.clone() };
        let mut inner = self.frame(c.code.clone(), Some(Rc::new(scope)), frame.globals.clone());
        inner.class_cell.clone_from(&frame.class_cell);
        frame.pos = c.code.pos;
        let mut list = Vec::new();
        let map = crate::dict::Shared::default();
        let mut add = |i: &mut Interp, f: &mut Frame| {
            let element = i.eval(f, &c.element)?;
            match (c.kind, &c.value) {
                (ComprehensionKind::List, _) => {
                    i.charge(16)?;
                    list.push(element);
                    Ok(())
                }
                (ComprehensionKind::Set, _) => i.dict_set(&map, element, Value::None),
                (ComprehensionKind::Dict, Some(value)) => {
                    let value = i.eval(f, value)?;
                    i.dict_set(&map, element, value)
                }
                (ComprehensionKind::Dict, None) => Ok(()),
            }
        };
        match self.clause(&mut inner, &c.clauses, iterable, &mut add) {
            Ok(()) => {}
            Err(unwind) => return Err(self.located(&inner, unwind)),
        }
        match c.kind {
            ComprehensionKind::List => self.new_list(list),
            ComprehensionKind::Set => Ok(Value::Set(map)),
            ComprehensionKind::Dict => Ok(Value::Dict(map)),
        }
    }

    fn clause(
        &mut self,
        frame: &mut Frame,
        clauses: &[Clause],
        iterable: Value,
        add: &mut dyn FnMut(&mut Interp, &mut Frame) -> R<()>,
    ) -> R<()> {
        let iter = self.iter(&iterable)?;
        let clause = &clauses[0];
        'elements: while let Some(value) = self.next(&iter)? {
            self.tick()?;
            self.assign(frame, &clause.target, value)?;
            for condition in &clause.conditions {
                let value = self.eval(frame, condition)?;
                if !self.truth(&value)? {
                    continue 'elements;
                }
            }
            match clauses.get(1) {
                None => add(self, frame)?,
                Some(next) => {
                    let iterable = self.eval(frame, &next.iter)?;
                    self.deeper(|i| i.clause(frame, &clauses[1..], iterable, add))?;
                }
            }
        }
        Ok(())
    }

    /// Assigns a value to a target.
    ///
    /// # Errors
    /// What the program raises.
    pub fn assign(&mut self, frame: &mut Frame, target: &Expr, value: Value) -> R<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                self.store(frame, name, value);
                Ok(())
            }
            ExprKind::Attribute(object, name) => {
                let object = self.eval(frame, object)?;
                frame.pos = target.pos;
                self.set_attr(&object, name, value)
            }
            ExprKind::Subscript(object, index) => {
                let object = self.eval(frame, object)?;
                let index = self.eval(frame, index)?;
                frame.pos = target.pos;
                self.set_item(&object, &index, value)
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => self.unpack(frame, targets, &value),
            _ => self.raise("SyntaxError", "cannot assign to expression"),
        }
    }

    fn unpack(&mut self, frame: &mut Frame, targets: &[Expr], value: &Value) -> R<()> {
        let star = targets.iter().position(|t| matches!(t.kind, ExprKind::Starred(_)));
        let is_iterable = self.is_iterable(value);
        if !is_iterable {
            let class = self.type_name(value);
            return self.type_error(format!("cannot unpack non-iterable {class} object"));
        }
        // An endless iterator is not read further than needed.
        let mut items = Vec::new();
        let iter = self.iter(value)?;
        while star.is_some() || items.len() <= targets.len() {
            let Some(item) = self.next(&iter)? else { break };
            self.charge(16)?;
            self.tick()?;
            items.push(item);
        }
        let needed = targets.len() - usize::from(star.is_some());
        if items.len() < needed {
            let at_least = if star.is_some() { "at least " } else { "" };
            let message = format!("not enough values to unpack (expected {at_least}{needed}, got {})", items.len());
            return self.value_error(message);
        }
        let Some(star) = star else {
            if items.len() > needed {
                return self.value_error(format!("too many values to unpack (expected {needed})"));
            }
            for (target, item) in targets.iter().zip(items) {
                self.assign(frame, target, item)?;
            }
            return Ok(());
        };
        let tail = items.split_off(items.len() - (targets.len() - star - 1));
        let middle = items.split_off(star);
        for (target, item) in targets.iter().zip(items) {
            self.assign(frame, target, item)?;
        }
        if let ExprKind::Starred(inner) = &targets[star].kind {
            let list = self.new_list(middle)?;
            self.assign(frame, inner, list)?;
        }
        for (target, item) in targets[star + 1..].iter().zip(tail) {
            self.assign(frame, target, item)?;
        }
        Ok(())
    }

    /// `target op= value`: the target's parts are evaluated once.
    pub(crate) fn augmented(&mut self, frame: &mut Frame, target: &Expr, op: BinOp, value: &Expr) -> R<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let old = self.load(frame, name)?;
                let value = self.eval(frame, value)?;
                frame.pos = target.pos;
                let new = self.in_place(&old, op, &value)?;
                self.store(frame, name, new);
                Ok(())
            }
            ExprKind::Attribute(object, name) => {
                let object = self.eval(frame, object)?;
                let old = self.get_attr(&object, name)?;
                let value = self.eval(frame, value)?;
                frame.pos = target.pos;
                let new = self.in_place(&old, op, &value)?;
                self.set_attr(&object, name, new)
            }
            ExprKind::Subscript(object, index) => {
                let object = self.eval(frame, object)?;
                let index = self.eval(frame, index)?;
                let old = self.get_item(&object, &index)?;
                let value = self.eval(frame, value)?;
                frame.pos = target.pos;
                let new = self.in_place(&old, op, &value)?;
                self.set_item(&object, &index, new)
            }
            _ => self.raise("SyntaxError", "illegal expression for augmented assignment"),
        }
    }

    pub(crate) fn delete_target(&mut self, frame: &mut Frame, target: &Expr) -> R<()> {
        match &target.kind {
            ExprKind::Name(name) => self.delete(frame, name),
            ExprKind::Attribute(object, name) => {
                let object = self.eval(frame, object)?;
                self.del_attr(&object, name)
            }
            ExprKind::Subscript(object, index) => {
                let object = self.eval(frame, object)?;
                let index = self.eval(frame, index)?;
                self.del_item(&object, &index)
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().try_for_each(|t| self.delete_target(frame, t))
            }
            _ => self.raise("SyntaxError", "cannot delete expression"),
        }
    }

    /// The keys and values of a mapping: a dict, or an object with `keys` and `__getitem__`.
    ///
    /// # Errors
    /// A `TypeError` if it is none.
    pub fn mapping_items(&mut self, value: &Value) -> R<Vec<(Value, Value)>> {
        if let Value::Dict(map) = value.plain() {
            return Ok(map.borrow().iter().map(|(k, v)| (k.clone(), v.clone())).collect());
        }
        let keys: Name = "keys".into();
        let Some(keys) = self.find_attr(value, &keys)? else {
            let class = self.type_name(value);
            return self.type_error(format!("'{class}' object is not a mapping"));
        };
        let keys = self.call(&keys, Args::default())?;
        let mut items = Vec::new();
        for key in self.collect(&keys)? {
            let item = self.get_item(value, &key)?;
            items.push((key, item));
        }
        Ok(items)
    }

    /// Adds the items of a mapping.
    pub(crate) fn update_dict(&mut self, map: &crate::dict::Shared, value: &Value) -> R<()> {
        for (key, value) in self.mapping_items(value)? {
            self.dict_set(map, key, value)?;
        }
        Ok(())
    }
}
