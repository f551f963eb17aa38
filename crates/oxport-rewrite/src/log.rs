//! From what a search did to the steps of a proof, not cut down yet.
//!
//! Law: a class stands for the term that it was made for first; classes only grow, so that term stays in it.

use crate::applied::Applied;
use crate::ingest::Ingested;
use crate::proof::{Entry, Proof, Step, Value};
use crate::term::{Constant, Name, Term};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use oxport_ir::ExportedProgram;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A term of a proof's table, by what it is.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Call(Name, Vec<u32>),
    List(Vec<u32>),
    Const(Constant),
    Node(Arc<str>),
    Storage(u32),
}

/// A proof's table of terms while it is written.
#[derive(Default)]
struct Table {
    entries: Vec<Entry>,
    index: HashMap<Key, u32>,
    of_class: HashMap<Id, u32>,
}

/// The steps of a log, as those of a proof, not cut down.
pub(crate) fn steps(program: &ExportedProgram, ingested: &Ingested<'_>, log: &[Applied], proof: &mut Proof) {
    let mut table = Table::default();
    // Nodes by the class that each was given.
    let mut names: HashMap<Id, Arc<str>> = HashMap::new();
    for (id, node) in program.graph.nodes() {
        for classes in [&ingested.term_class_of, &ingested.class_of] {
            if let Some(&class) = classes.get(&id) {
                names.entry(class).or_insert_with(|| node.name.clone());
            }
        }
    }
    let ids = |a: &Applied| a.variables().into_iter().map(|(_, id)| id).chain(a.computed().iter().copied()).collect();
    let roots = log.iter().flat_map(|a| -> Vec<Id> { ids(a) });
    table.classes(program, ingested, &names, roots);
    proof.steps = log.iter().filter_map(|applied| table.step(applied)).collect();
    proof.terms = table.entries;
}

impl Table {
    fn add(&mut self, key: Key) -> u32 {
        let next = self.entries.len() as u32;
        *self.index.entry(key).or_insert_with_key(|key| {
            self.entries.push(match key {
                Key::Call(name, args) => Entry::Call(name.to_string(), args.clone()),
                Key::List(items) => Entry::List(items.clone()),
                Key::Const(c) => Entry::Value(Value::of(c)),
                Key::Node(name) => Entry::Node(name.to_string()),
                Key::Storage(of) => Entry::Storage(*of),
            });
            next
        })
    }

    /// Adds the terms of classes, and of those that they are made of.
    fn classes(
        &mut self,
        program: &ExportedProgram,
        ingested: &Ingested<'_>,
        names: &HashMap<Id, Arc<str>>,
        roots: impl Iterator<Item = Id>,
    ) {
        let graph = &ingested.egraph;
        let (mut open, mut needed): (Vec<Id>, BTreeSet<Id>) = (roots.collect(), BTreeSet::new());
        while let Some(id) = open.pop() {
            if needed.insert(id) && !names.contains_key(&id) {
                open.extend(graph.id_to_node(id).children());
            }
        }
        // Arguments were added before what they are arguments of.
        for id in needed {
            let term = graph.id_to_node(id);
            let kids: Option<Vec<u32>> = match names.contains_key(&id) {
                true => Some(Vec::new()),
                false => term.children().iter().map(|k| self.of_class.get(k).copied()).collect(),
            };
            let Some(kids) = kids else { continue };
            let key = match (names.get(&id), term) {
                (Some(name), _) => Key::Node(name.clone()),
                (None, Term::Op(name, args)) => {
                    let op = graph.analysis.types.registry.op(name.as_str());
                    let reads_storage = op.def().is_some_and(|d| d.reads_storage);
                    let storage = |table: &mut Table, (&id, &kid): (&Id, &u32)| match graph.id_to_node(id) {
                        Term::Own(..) => table.add(Key::Storage(kid)),
                        _ => kid,
                    };
                    let kids = match reads_storage {
                        true => args.iter().zip(&kids).map(|pair| storage(self, pair)).collect(),
                        false => kids,
                    };
                    Key::Call(*name, kids)
                }
                (None, Term::List(_)) => Key::List(kids),
                (None, Term::Const(c)) => Key::Const(c.clone()),
                (None, Term::Own(..)) => {
                    self.of_class.insert(id, kids[0]);
                    continue;
                }
                (None, Term::Leaf(index)) => match ingested.node_at.get(index) {
                    Some(&node) => Key::Node(program.graph.node(node).name.clone()),
                    None => continue,
                },
            };
            let entry = self.add(key);
            self.of_class.insert(id, entry);
        }
    }

    /// The step of an application; nothing, if a term of it cannot be written.
    fn step(&mut self, applied: &Applied) -> Option<Step> {
        let name = applied.name.to_string();
        let mut pairs = Vec::new();
        for (before, after) in applied.pairs() {
            pairs.push((self.instance(before, applied)?, self.instance(after, applied)?));
        }
        if applied.is_merge() {
            return Some(Step::Merge { name, pairs });
        }
        let mut with = BTreeMap::new();
        for (variable, id) in applied.variables() {
            with.insert(variable.to_string().trim_start_matches('?').to_string(), *self.of_class.get(&id)?);
        }
        let (before, after) = pairs.pop()?;
        Some(Step::Rule { name, before, after, with })
    }

    fn instance(&mut self, ast: &PatternAst<Term>, applied: &Applied) -> Option<u32> {
        let mut ids: Vec<u32> = Vec::new();
        let mut computed = applied.computed().iter();
        for node in ast.as_ref() {
            let id = match node {
                ENodeOrVar::Var(v) => *self.of_class.get(&applied.variable(*v)?)?,
                ENodeOrVar::ENode(term) => {
                    let kids = term.children().iter().map(|k| ids[usize::from(*k)]).collect();
                    match term {
                        Term::Op(name, _) if name.as_str().starts_with('@') => *self.of_class.get(computed.next()?)?,
                        Term::Op(name, _) => self.add(Key::Call(*name, kids)),
                        Term::List(_) => self.add(Key::List(kids)),
                        Term::Const(c) => self.add(Key::Const(c.clone())),
                        Term::Leaf(_) | Term::Own(..) => return None,
                    }
                }
            };
            ids.push(id);
        }
        ids.pop()
    }
}
