//! What a search did: every application of a rule, with what its variables stood for.

use crate::pattern::Side;
use crate::rule::Rule;
use crate::term::Term;
use egg::{Id, PatternAst, Subst, Symbol, Var};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// An application of a rule.
pub(crate) struct Applied {
    /// The rule.
    pub name: Symbol,
    /// What was applied.
    pub step: Step,
    /// The ids of the terms that were added for it.
    pub made: Range<usize>,
}

/// A step of a search.
pub(crate) enum Step {
    /// A form of a rule, at a class that it matched.
    Rule {
        rule: Rule,
        form: usize,
        /// Its sides.
        sides: [Arc<Side>; 2],
        class: Id,
        subst: Subst,
        /// What the functions of the right side gave, in order.
        computed: Vec<Id>,
    },
    /// Products that are parts of one now.
    Merge {
        parts: Vec<Part>,
        /// Terms over variables, and those that they are equal to now.
        pairs: Vec<(PatternAst<Term>, PatternAst<Term>)>,
        /// What the variables stand for.
        variables: HashMap<Var, Id>,
    },
}

/// A term that may be merged, and its class.
#[derive(Clone)]
pub(crate) struct Part {
    pub class: Id,
    pub kids: Vec<Id>,
}

impl Applied {
    /// Whether it is a rule over several terms at once.
    pub fn is_merge(&self) -> bool {
        matches!(self.step, Step::Merge { .. })
    }

    /// Terms over variables, and those that they are equal to now.
    pub fn pairs(&self) -> Vec<(&PatternAst<Term>, &PatternAst<Term>)> {
        match &self.step {
            Step::Rule { sides: [left, right], .. } => vec![(&left.ast, &right.ast)],
            Step::Merge { pairs, .. } => pairs.iter().map(|(left, right)| (left, right)).collect(),
        }
    }

    /// What a variable stands for.
    pub fn variable(&self, var: Var) -> Option<Id> {
        match &self.step {
            Step::Rule { subst, .. } => subst.get(var).copied(),
            Step::Merge { variables, .. } => variables.get(&var).copied(),
        }
    }

    /// The variables, with what they stand for.
    pub fn variables(&self) -> Vec<(Var, Id)> {
        match &self.step {
            Step::Rule { sides: [left, _], .. } => {
                let vars = left.vars();
                vars.into_iter().filter_map(|var| Some((var, self.variable(var)?))).collect()
            }
            Step::Merge { variables, .. } => variables.iter().map(|(var, id)| (*var, *id)).collect(),
        }
    }

    /// What the functions of the right side gave, in order.
    pub fn computed(&self) -> &[Id] {
        if let Step::Rule { computed, .. } = &self.step { computed } else { &[] }
    }
}
