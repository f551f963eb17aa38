//! Which classes may need each other in a circle.

use super::Space;

const NONE: usize = usize::MAX;

/// A class that is walked, what it needs by any term, and how much of that was looked at.
type Step<'a> = (usize, Box<dyn Iterator<Item = usize> + 'a>);

/// The number of each class's strongly connected component, by Tarjan's algorithm: a component's number is larger than
/// those of all that it needs by any term.
pub(super) fn components(space: &Space) -> Vec<usize> {
    let count = space.classes.len();
    let kids = |class: usize| space.classes[class].iter().flat_map(|node| node.kids.iter().copied());
    let (mut entered, mut lowest) = (vec![NONE; count], vec![NONE; count]);
    let (mut component, mut components, mut turn) = (vec![NONE; count], 0, 0);
    // Classes that were entered and have no component yet.
    let mut open = Vec::new();
    let mut walk: Vec<Step<'_>> = Vec::new();
    let mut enter = |class: usize, entered: &mut [usize], lowest: &mut [usize], open: &mut Vec<usize>| -> Step<'_> {
        (entered[class], lowest[class]) = (turn, turn);
        turn += 1;
        open.push(class);
        (class, Box::new(kids(class)))
    };
    for start in 0..count {
        if entered[start] == NONE {
            walk.push(enter(start, &mut entered, &mut lowest, &mut open));
        }
        while let Some((class, kids)) = walk.last_mut() {
            let class = *class;
            match kids.next() {
                Some(kid) if entered[kid] == NONE => {
                    walk.push(enter(kid, &mut entered, &mut lowest, &mut open));
                }
                Some(kid) if component[kid] == NONE => lowest[class] = lowest[class].min(entered[kid]),
                Some(_) => {}
                None => {
                    walk.pop();
                    if let Some((user, _)) = walk.last() {
                        lowest[*user] = lowest[*user].min(lowest[class]);
                    }
                    if lowest[class] == entered[class] {
                        let first = open.iter().rposition(|&one| one == class).expect("law: it is open");
                        open.drain(first..).for_each(|one| component[one] = components);
                        components += 1;
                    }
                }
            }
        }
    }
    component
}
