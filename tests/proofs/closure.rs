//! The congruence closure by which proofs are checked, against its definition.

use oxport_rewrite::proof::closure::{Closure, TermId};
use std::collections::BTreeSet;

/// `f`, `g` over constants.
fn leaf(c: &mut Closure<&'static str>, name: &'static str) -> TermId {
    c.add(name, &[])
}

#[test]
fn equal_arguments_make_equal_terms() {
    let mut c = Closure::new();
    let (a, b, x) = (leaf(&mut c, "a"), leaf(&mut c, "b"), leaf(&mut c, "x"));
    let (fa, fb) = (c.add("f", &[a, x]), c.add("f", &[b, x]));
    let (gfa, gfb) = (c.add("g", &[fa]), c.add("g", &[fb]));
    assert!(!c.equal(gfa, gfb));
    c.unite(a, b, 7);
    assert!(c.equal(fa, fb) && c.equal(gfa, gfb) && !c.equal(fa, gfa));
    assert_eq!(c.explain([(gfa, gfb)]), BTreeSet::from([7]));
    // What is made later, too.
    let (hb, ha) = (c.add("h", &[b]), c.add("h", &[a]));
    assert!(hb != ha && c.equal(hb, ha));
}

#[test]
fn terms_are_made_once() {
    let mut c = Closure::new();
    let a = leaf(&mut c, "a");
    assert_eq!(c.add("f", &[a]), c.add("f", &[a]));
    assert_ne!(c.add("f", &[a]), c.add("f", &[a, a]));
    assert_eq!(c.find_term(&"f", &[a, a]), Some(2));
    assert_eq!((c.find_term(&"g", &[a]), c.len()), (None, 3));
}

#[test]
fn classes_close_over_cycles() {
    // f³(a) = a and f⁵(a) = a, so f(a) = a.
    let mut c = Closure::new();
    let mut powers = vec![leaf(&mut c, "a")];
    for i in 0..5 {
        powers.push(c.add("f", &[powers[i]]));
    }
    c.unite(powers[3], powers[0], 3);
    assert!(!c.equal(powers[1], powers[0]));
    c.unite(powers[5], powers[0], 5);
    assert!(powers.iter().all(|&p| c.equal(p, powers[0])));
    assert_eq!(c.explain([(powers[1], powers[0])]), BTreeSet::from([3, 5]));
    assert_eq!(c.members(powers[2]).len(), 6);
}

#[test]
fn explanations_leave_out_what_is_not_needed() {
    let mut c = Closure::new();
    let names = ["a", "b", "c", "d", "e"];
    let ids: Vec<TermId> = names.iter().map(|n| leaf(&mut c, n)).collect();
    for i in 0..4 {
        c.unite(ids[i], ids[i + 1], i as u32);
    }
    assert_eq!(c.explain([(ids[1], ids[3])]), BTreeSet::from([1, 2]));
    assert_eq!(c.explain([(ids[3], ids[1]), (ids[0], ids[1])]), BTreeSet::from([0, 1, 2]));
    assert_eq!(c.explain([(ids[2], ids[2])]), BTreeSet::new());
    let f = leaf(&mut c, "f");
    assert_eq!(c.explain([(ids[0], f)]), BTreeSet::new());
}

/// The classes that equations make of all terms, by the definition: until nothing changes.
fn naive(terms: &[(u8, Vec<usize>)], equations: &[(usize, usize)]) -> Vec<usize> {
    let mut class: Vec<usize> = (0..terms.len()).collect();
    let join = |class: &mut Vec<usize>, a: usize, b: usize| {
        let (from, to) = (class[a].max(class[b]), class[a].min(class[b]));
        class.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
        from != to
    };
    for &(a, b) in equations {
        join(&mut class, a, b);
    }
    loop {
        let mut is_changed = false;
        for i in 0..terms.len() {
            for j in 0..i {
                let same = |(a, b): (&usize, &usize)| class[*a] == class[*b];
                let ((f, x), (g, y)) = (&terms[i], &terms[j]);
                if f == g && x.len() == y.len() && x.iter().zip(y).all(same) {
                    is_changed |= join(&mut class, i, j);
                }
            }
        }
        if !is_changed {
            return class;
        }
    }
}

#[test]
fn agrees_with_the_definition() {
    let mut state = 1u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for _ in 0..60 {
        let (mut c, mut terms, mut ids) = (Closure::new(), Vec::new(), Vec::new());
        let mut add = |c: &mut Closure<u8>, head: u8, args: Vec<usize>| {
            if !terms.contains(&(head, args.clone())) {
                let kids: Vec<TermId> = args.iter().map(|&a| ids[a]).collect();
                ids.push(c.add(head, &kids));
                terms.push((head, args));
            }
        };
        (0..4).for_each(|head| add(&mut c, head, Vec::new()));
        for _ in 0..16 {
            let (head, arity) = (10 + draw(3) as u8, 1 + draw(2));
            let args = (0..arity).map(|_| draw(4)).collect();
            add(&mut c, head, args);
        }
        let count = ids.len();
        for _ in 0..12 {
            let (head, args) = (10 + draw(3) as u8, vec![draw(count), draw(count)]);
            let kids: Vec<TermId> = args.iter().map(|&a| ids[a]).collect();
            if !terms.contains(&(head, args.clone())) {
                ids.push(c.add(head, &kids));
                terms.push((head, args));
            }
        }
        let equations: Vec<(usize, usize)> = (0..4).map(|_| (draw(terms.len()), draw(terms.len()))).collect();
        for (i, &(a, b)) in equations.iter().enumerate() {
            c.unite(ids[a], ids[b], i as u32);
        }
        let class = naive(&terms, &equations);
        for i in 0..terms.len() {
            for j in 0..terms.len() {
                assert_eq!(class[i] == class[j], c.equal(ids[i], ids[j]));
                if class[i] == class[j] {
                    // What an explanation names suffices.
                    let why = c.explain([(ids[i], ids[j])]);
                    let some: Vec<(usize, usize)> = why.iter().map(|&n| equations[n as usize]).collect();
                    let class = naive(&terms, &some);
                    assert_eq!(class[i], class[j]);
                }
            }
        }
        // Unions are taken back: again and again, and with others in their place.
        let mut c = Closure::new();
        for (head, args) in &terms {
            let kids: Vec<TermId> = args.iter().map(|&a| ids[a]).collect();
            c.add(*head, &kids);
        }
        c.keep_trail();
        let agrees = |c: &Closure<u8>, equations: &[(usize, usize)]| {
            let class = naive(&terms, equations);
            let pairs = (0..terms.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            pairs.into_iter().all(|(i, j)| (class[i] == class[j]) == c.equal(ids[i], ids[j]))
        };
        let unite = |c: &mut Closure<u8>, (a, b): (usize, usize)| drop(c.unite(ids[a], ids[b], 0));
        unite(&mut c, equations[0]);
        let one = c.changes();
        unite(&mut c, equations[1]);
        let two = c.changes();
        equations[2..].iter().for_each(|&pair| unite(&mut c, pair));
        assert!(agrees(&c, &equations));
        c.undo(two);
        assert!(agrees(&c, &equations[..2]));
        c.undo(one);
        assert!(agrees(&c, &equations[..1]));
        equations[2..].iter().for_each(|&pair| unite(&mut c, pair));
        assert!(agrees(&c, &[equations[0], equations[2], equations[3]]));
    }
}
