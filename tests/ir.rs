//! Laws of the graph, of operators and of questions about sizes.

use oxport::{Expr, Value, registry};
use oxport_ir::{Graph, Makings, MetaCx, Node, NodeId, NodeKind, Prepared};
use oxport_sym::{Assumptions, ShapeEnv, Symbol};
use oxport_tensor::Tensor;
use std::sync::Arc;

fn node(graph: &Graph, stem: &str) -> Node {
    Node::new(graph.unique_name(stem), NodeKind::Placeholder, vec![])
}

/// Order keys run out wherever nodes are added, at the front too: then all are numbered anew.
#[test]
fn nodes_are_added_anywhere_any_number_of_times() {
    let mut graph = Graph::new();
    assert!(graph.is_empty());
    let last = graph.append(node(&graph, "n")).expect("a node");
    assert!(!graph.is_empty());
    let mut expected: Vec<NodeId> = vec![last];
    for i in 0..200 {
        // At the front, before the last, and behind the first, which is where keys halve.
        let place = [0, expected.len() - 1, 1][i % 3].min(expected.len() - 1);
        let new = graph.insert_before(expected[place], node(&graph, "n")).expect("a node");
        expected.insert(place, new);
    }
    assert_eq!(graph.ids().collect::<Vec<_>>(), expected);
    assert_eq!(graph.len(), 201);
    assert!(graph.rename(last, "n").is_ok() && graph.rename(last, "n_1").is_err());
    assert!(expected.windows(2).all(|w| graph.is_before(w[0], w[1]) && !graph.is_before(w[1], w[0])));
}

/// An operator without a schema may do anything, unless it is a function on numbers or calls subgraphs.
#[test]
fn what_operators_are() {
    for (name, is_mutable, shown) in [
        ("aten::add_.Tensor", true, "torch.ops.aten.add_.Tensor"),
        ("aten::add.Tensor", false, "torch.ops.aten.add.Tensor"),
        ("mine::unknown", true, "torch.ops.mine.unknown.default"),
        ("_operator::add", false, "_operator.add"),
        ("higher_order::cond", false, "torch.ops.higher_order.cond"),
    ] {
        let op = registry().op(name);
        assert_eq!((op.is_mutable(), op.to_string()), (is_mutable, shown.to_string()), "{name}");
    }
    assert_eq!([Value::Int(7), Value::Bool(true)].map(|v| v.as_int()), [Some(7), None]);
}

/// Answers to questions that ranges leave open: by the size at capture, else as the call is valid only; the contrary is
/// the other answer, where both are valid.
#[test]
fn open_questions_are_answered_both_ways() {
    let (one, five) = (Symbol::new("s0", Assumptions::integer()), Symbol::new("s1", Assumptions::integer()));
    let unknown = Symbol::new("u0", Assumptions::integer());
    let mut env = ShapeEnv::new();
    env.set_hint(&one, 1);
    env.set_hint(&five, 5);
    let (plain, contrary) = (MetaCx::new(&env), MetaCx::contrary(&env));
    for (symbol, otherwise, said) in [
        (&one, false, (true, false)),
        (&five, false, (false, true)),
        (&unknown, false, (false, true)),
        (&one, true, (true, true)),
        (&five, true, (false, false)),
        (&unknown, true, (true, true)),
    ] {
        let is_one = Expr::symbol(symbol).eq_(&Expr::from(1i64));
        let answers = (plain.decide(&is_one, otherwise), contrary.decide(&is_one, otherwise));
        assert_eq!(answers, said, "{symbol:?} == 1, otherwise {otherwise}");
    }
}

/// What is made of a tensor in a layout is made once, and one thing of each kind.
#[test]
fn one_is_made_of_each_tensor() {
    let makings = Makings::default();
    let x = Tensor::from_vec(&[2, 3], vec![1f32; 6]).expect("a valid case");
    let turned = x.view(|l| l.transpose(0, 1)).expect("a valid case");
    let mut count = 0;
    let mut sizes = |x: &Tensor| {
        let made = makings.once(x, |x| {
            count += 1;
            Ok(Some(x.sizes().to_vec()))
        });
        made.expect("a valid case").expect("a valid case")
    };
    let (a, b) = (sizes(&x), sizes(&turned));
    assert_eq!((&a[..], &b[..]), (&[2, 3][..], &[3, 2][..]));
    assert!(Arc::ptr_eq(&a, &sizes(&x.clone())) && Arc::ptr_eq(&b, &sizes(&turned)));
    assert_eq!(count, 2);
    // Another type is another thing; what is not worth making is asked for once.
    let rank = |x: &Tensor| makings.once(x, |x| Ok((x.rank() > 2).then(|| x.rank()))).expect("a valid case");
    assert_eq!((rank(&x), rank(&x)), (None, None));
    assert_eq!(makings.tensors(0).len(), 2);
    let prepared = Prepared::new(a);
    assert_eq!(prepared.get::<Vec<i64>>().expect("a valid case")[..], [2, 3]);
    assert!(prepared.get::<usize>().is_none());
}
