//! `for` and `while`.
//!
//! A loop whose number of rounds is known is run; one whose rounds are data-dependent is kept (see
//! [`crate::torch::branch`]).

use crate::error::R;
use crate::exec::Flow;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::{Expr, Stmt};
use crate::torch::branch::{Decision, Exits};
use crate::value::Value;

impl Interp {
    pub(crate) fn for_loop(
        &mut self,
        frame: &mut Frame,
        target: &Expr,
        iter: &Expr,
        body: &[Stmt],
        orelse: &[Stmt],
    ) -> R<Flow> {
        let iterable = self.eval(frame, iter)?;
        if let Value::Host(host) = &iterable
            && let Some(count) = host.clone().unknown_len(self, &iterable)?
        {
            let exits = self.deeper(|i| i.repeat_for(frame, target, &iterable, &count, body))?;
            return self.loop_else(frame, exits, orelse);
        }
        let iter = self.iter(&iterable)?;
        // How rounds before ended, where that is data-dependent.
        let mut left: Option<Exits> = None;
        while let Some(value) = self.next(&iter)? {
            self.tick()?;
            let mut round = |i: &mut Interp, f: &mut Frame| {
                i.assign(f, target, value.clone())?;
                i.deeper(|i| i.block(f, body))
            };
            let flow = match left.take() {
                Some(exits) => self.unless_left(frame, exits, &mut round)?,
                None => round(self, frame)?,
            };
            match flow {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
                Flow::Open(exits) => left = exits.goes_on(),
            }
        }
        match left {
            Some(exits) => self.loop_else(frame, exits, orelse),
            None => self.deeper(|i| i.block(frame, orelse)),
        }
    }

    pub(crate) fn while_loop(&mut self, frame: &mut Frame, test: &Expr, body: &[Stmt], orelse: &[Stmt]) -> R<Flow> {
        loop {
            self.tick()?;
            frame.pos = test.pos;
            let value = self.eval(frame, test)?;
            let go = match self.decision(&value)? {
                Decision::Known(false) => return self.deeper(|i| i.block(frame, orelse)),
                Decision::Known(true) if self.leaves_on_data(frame, body)? => Value::Bool(true),
                Decision::Known(true) => match self.deeper(|i| i.block(frame, body))? {
                    Flow::Break => return Ok(Flow::Next),
                    Flow::Return(value) => return Ok(Flow::Return(value)),
                    Flow::Next | Flow::Continue | Flow::Open(_) => continue,
                },
                Decision::Open(go) => go,
            };
            let exits = self.deeper(|i| i.repeat_while(frame, go, test, body))?;
            return self.loop_else(frame, exits, orelse);
        }
    }
}
