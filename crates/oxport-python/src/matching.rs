//! The patterns of `match`.

use crate::error::R;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::{Block, Case, Pattern};
use crate::value::{Name, Value};

impl Interp {
    /// The block of the first case that matches; its names are bound.
    pub(crate) fn select_case(&mut self, frame: &mut Frame, subject: &Value, cases: &[Case]) -> R<Option<Block>> {
        for case in cases {
            let mut bound = Vec::new();
            if !self.matches(frame, subject, &case.pattern, &mut bound)? {
                continue;
            }
            for (name, value) in bound {
                self.store(frame, &name, value);
            }
            if let Some(guard) = &case.guard {
                let value = self.eval(frame, guard)?;
                if !self.truth(&value)? {
                    continue;
                }
            }
            return Ok(Some(case.body.clone()));
        }
        Ok(None)
    }

    fn matches(
        &mut self,
        frame: &mut Frame,
        value: &Value,
        pattern: &Pattern,
        bound: &mut Vec<(Name, Value)>,
    ) -> R<bool> {
        self.tick()?;
        match pattern {
            Pattern::Value(expr) => {
                let expected = self.eval(frame, expr)?;
                self.equal(value, &expected)
            }
            Pattern::Singleton(expected) => Ok(value.is(expected)),
            Pattern::As(inner, name) => {
                if let Some(inner) = inner
                    && !self.matches(frame, value, inner, bound)?
                {
                    return Ok(false);
                }
                if let Some(name) = name {
                    bound.push((name.clone(), value.clone()));
                }
                Ok(true)
            }
            Pattern::Or(options) => {
                for option in options {
                    let len = bound.len();
                    if self.matches(frame, value, option, bound)? {
                        return Ok(true);
                    }
                    bound.truncate(len);
                }
                Ok(false)
            }
            Pattern::Star(_) => Ok(false),
            Pattern::Sequence(items) => self.matches_sequence(frame, value, items, bound),
            Pattern::Mapping(items, rest) => {
                let Value::Dict(map) = value.plain() else { return Ok(false) };
                let mut keys = Vec::new();
                for (key, pattern) in items {
                    let key = self.eval(frame, key)?;
                    let Some(item) = self.dict_get(&map, &key)? else { return Ok(false) };
                    if !self.matches(frame, &item, pattern, bound)? {
                        return Ok(false);
                    }
                    keys.push(key);
                }
                if let Some(rest) = rest {
                    let items = self.mapping_items(value)?;
                    let others = self.make_dict(items)?;
                    for key in keys {
                        self.dict_remove(&others, &key)?;
                    }
                    bound.push((rest.clone(), Value::Dict(others)));
                }
                Ok(true)
            }
            Pattern::Class(class, positional, named) => {
                let class = self.eval(frame, class)?;
                if !self.is_instance(value, &class)? {
                    return Ok(false);
                }
                self.matches_class(frame, value, &class, positional, named, bound)
            }
        }
    }

    fn matches_class(
        &mut self,
        frame: &mut Frame,
        value: &Value,
        class: &Value,
        positional: &[Pattern],
        named: &[(Name, Pattern)],
        bound: &mut Vec<(Name, Value)>,
    ) -> R<bool> {
        // A built-in class takes the value itself as its one position.
        let is_native =
            matches!(class, Value::Class(c) if &*c.module == "builtins" && c.lookup("__match_args__").is_none());
        if let (true, [pattern]) = (is_native, positional) {
            return self.matches(frame, value, pattern, bound);
        }
        let names = match (positional.is_empty(), self.find_attr(class, &Name::from("__match_args__"))?) {
            (false, Some(names)) => self.collect(&names)?,
            _ => Vec::new(),
        };
        if positional.len() > names.len() {
            let (class, n, m) = (self.repr(class)?, names.len(), positional.len());
            return self.type_error(format!("{class} accepts {n} positional sub-patterns ({m} given)"));
        }
        for (pattern, name) in positional.iter().zip(&names) {
            let name = self.text(name)?;
            let Some(item) = self.find_attr(value, &name)? else { return Ok(false) };
            if !self.matches(frame, &item, pattern, bound)? {
                return Ok(false);
            }
        }
        for (name, pattern) in named {
            let Some(item) = self.find_attr(value, name)? else { return Ok(false) };
            if !self.matches(frame, &item, pattern, bound)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn matches_sequence(
        &mut self,
        frame: &mut Frame,
        value: &Value,
        patterns: &[Pattern],
        bound: &mut Vec<(Name, Value)>,
    ) -> R<bool> {
        let items = match value.plain() {
            Value::List(list) => list.borrow().clone(),
            Value::Tuple(items) => items.to_vec(),
            range @ Value::Range(_) => self.collect(&range)?,
            _ => return Ok(false),
        };
        let star = patterns.iter().position(|p| matches!(p, Pattern::Star(_)));
        let fixed = patterns.len() - usize::from(star.is_some());
        if items.len() < fixed || (star.is_none() && items.len() > fixed) {
            return Ok(false);
        }
        let tail = star.map_or(0, |star| patterns.len() - star - 1);
        for (at, pattern) in patterns.iter().enumerate() {
            let matched = match (pattern, star) {
                (Pattern::Star(name), _) => {
                    if let Some(name) = name {
                        let middle = self.new_list(items[at..items.len() - tail].to_vec())?;
                        bound.push((name.clone(), middle));
                    }
                    true
                }
                (_, Some(star)) if at > star => {
                    self.matches(frame, &items[items.len() - (patterns.len() - at)], pattern, bound)?
                }
                _ => self.matches(frame, &items[at], pattern, bound)?,
            };
            if !matched {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
