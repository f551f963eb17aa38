//! What a search did: every application of a rule, with what its variables stood for.

use crate::rule::Rule;
use crate::term::Term;
use egg::{ENodeOrVar, Id, PatternAst, Subst, Symbol, Var};
use std::collections::HashMap;

/// An application of a rule.
pub(crate) struct Applied {
    /// The rule.
    pub name: Symbol,
    /// Whether it is one over several terms at once.
    pub is_merge: bool,
    /// Terms over variables, and those that they are equal to now.
    pub pairs: Vec<(PatternAst<Term>, PatternAst<Term>)>,
    /// What the variables stand for.
    pub variables: HashMap<Var, Id>,
    /// What the functions of the right side gave, in order.
    pub computed: Vec<Id>,
}

impl Applied {
    /// A rule of a left and a right side.
    pub fn rule(
        name: Symbol,
        (left, right): (&PatternAst<Term>, &PatternAst<Term>),
        subst: &Subst,
        computed: Vec<Id>,
    ) -> Applied {
        let variable = |node: &ENodeOrVar<Term>| match node {
            ENodeOrVar::Var(v) => Some((*v, *subst.get(*v)?)),
            ENodeOrVar::ENode(_) => None,
        };
        let variables = left.as_ref().iter().filter_map(variable).collect();
        Applied { name, is_merge: false, pairs: vec![(left.clone(), right.clone())], variables, computed }
    }
}

/// What a rule was applied to, so that it can be applied to something else.
#[derive(Clone)]
pub(crate) struct Application {
    /// The rule.
    pub rule: Rule,
    /// Which of its forms.
    pub form: usize,
    /// The class where it was matched.
    pub class: Id,
    /// What the variables stand for.
    pub subst: Subst,
    /// Whether both sides were united: else something was added, and found to be of another type.
    pub holds: bool,
}
