//! Indexing against values by PyTorch.

use super::*;

fn iota(sizes: &[i64]) -> Tensor {
    Tensor::from_vec(sizes, (0..sizes.iter().product::<i64>() as i32).collect()).unwrap()
}
fn ints(sizes: &[i64], values: &[i64]) -> Tensor {
    Tensor::from_slice(sizes, values).unwrap()
}
fn zeros(sizes: &[i64]) -> TensorMut {
    TensorMut::empty(DType::I32, Layout::contiguous(sizes).unwrap()).unwrap()
}
fn show(result: Result<Tensor>) -> String {
    match result {
        Ok(x) => format!("{:?} {:?}", x.sizes(), x.to_vec::<i64>().unwrap()),
        Err(e) => format!("error: {e}"),
    }
}
fn filled(sizes: &[i64], f: impl FnOnce(&mut TensorMut) -> Result<()>) -> String {
    let mut out = zeros(sizes);
    show(f(&mut out).map(|()| out.freeze()))
}

#[test]
fn selects_and_gathers() {
    let x = iota(&[3, 4]);
    let t = x.view(|l| l.transpose(0, 1)).unwrap();
    let two = ints(&[2], &[2, 0]);
    assert_eq!(filled(&[2, 4], |o| select(&x, 0, &two, o)), "[2, 4] [8, 9, 10, 11, 0, 1, 2, 3]");
    assert_eq!(filled(&[3, 2], |o| select(&x, -1, &two, o)), "[3, 2] [2, 0, 6, 4, 10, 8]");
    assert_eq!(filled(&[2, 3], |o| select(&t, 0, &two, o)), "[2, 3] [2, 6, 10, 0, 4, 8]");
    let bad = "error: index -1 is out of bounds for dimension with size 3";
    assert_eq!(filled(&[1, 4], |o| select(&x, 0, &ints(&[1], &[-1]), o)), bad);
    let index = ints(&[2, 3], &[0, 1, 2, 2, 1, 0]);
    assert_eq!(filled(&[2, 3], |o| gather(&x, 0, &index, o)), "[2, 3] [0, 5, 10, 8, 5, 2]");
    assert_eq!(filled(&[2, 3], |o| gather(&x, 1, &index, o)), "[2, 3] [0, 1, 2, 6, 5, 4]");
    assert!(filled(&[4, 1], |o| gather(&x, 1, &ints(&[4, 1], &[0; 4]), o)).starts_with("error: Size does not match"));
    let scalar = Tensor::scalar(7i32);
    assert_eq!(filled(&[], |o| gather(&scalar, 0, &ints(&[], &[0]), o)), "[] [7]");
    assert_eq!(filled(&[2], |o| gather(&scalar, 0, &ints(&[2], &[0, 0]), o)), "[2] [7, 7]");
}

#[test]
fn scatters() {
    let src = iota(&[2, 3]).view(|l| l.transpose(0, 1)).unwrap();
    let index = ints(&[3, 2], &[0, 1, 2, 0, 2, 1]);
    assert_eq!(filled(&[3, 2], |o| scatter(o, 0, &index, &src)), "[3, 2] [0, 4, 0, 5, 2, 0]");
    let add = |o: &mut TensorMut| scatter_with(o, 0, &index, &src, |a: i32, b: i32| a + b);
    assert_eq!(filled(&[3, 2], add), "[3, 2] [0, 4, 0, 8, 3, 0]");
    let rows = ints(&[3], &[1, 1, 0]);
    let add = |o: &mut TensorMut| update_slabs(o, 0, &rows, &src, |a: i32, b: i32| a + b);
    assert_eq!(filled(&[2, 2], add), "[2, 2] [2, 5, 1, 7]");
    let out_of_range = ints(&[1, 1], &[3]);
    assert!(filled(&[3, 2], |o| scatter(o, 0, &out_of_range, &src)).starts_with("error: index 3"));
}

#[test]
fn advanced_indices() {
    let x = iota(&[3, 4, 2]);
    let check = |indices: &[Option<Tensor>]| -> String {
        match index_sizes(x.layout(), indices) {
            Ok(sizes) => filled(&sizes, |o| index(&x, indices, o)),
            Err(e) => format!("error: {e}"),
        }
    };
    let (a, b) = (ints(&[2], &[0, -1]), ints(&[2, 1], &[3, 1]));
    assert_eq!(check(&[Some(a.clone())]), "[2, 4, 2] [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]");
    assert_eq!(check(&[Some(a.clone()), Some(b.clone())]), "[2, 2, 2] [6, 7, 22, 23, 2, 3, 18, 19]");
    assert_eq!(check(&[None, Some(b.clone())]), "[3, 2, 1, 2] [6, 7, 2, 3, 14, 15, 10, 11, 22, 23, 18, 19]");
    assert_eq!(check(&[Some(a.clone()), None, Some(ints(&[], &[1]))]), "[2, 4] [1, 3, 5, 7, 17, 19, 21, 23]");
    let mask = Tensor::from_vec(&[3], vec![false, true, false]).unwrap();
    assert_eq!(check(&[Some(mask), Some(ints(&[], &[2]))]), "[1, 2] [12, 13]");
    assert_eq!(check(&[Some(ints(&[1], &[3]))]), "error: index 3 is out of bounds for dimension with size 3");
    assert!(
        check(&[Some(Tensor::from_vec(&[2], vec![true, true]).unwrap())]).starts_with("error: The shape of the mask")
    );
    assert!(check(&[Some(ints(&[2], &[0, 1])), Some(ints(&[3], &[0, 1, 2]))]).starts_with("error: The size"));
    assert!(check(&[Some(Tensor::scalar(1.0f32))]).starts_with("error: tensors used as indices"));
}

#[test]
fn puts() {
    let (i, j) = (ints(&[3], &[0, 1, 0]), ints(&[3], &[1, 1, 1]));
    let indices = [Some(i), Some(j)];
    let values = Tensor::from_vec(&[3], vec![5i32, 6, 7]).unwrap();
    assert_eq!(filled(&[2, 2], |o| put(o, &indices, &values)), "[2, 2] [0, 7, 0, 6]");
    let add = |o: &mut TensorMut| put_with(o, &indices, &values, |a: i32, b: i32| a + b);
    assert_eq!(filled(&[2, 2], add), "[2, 2] [0, 12, 0, 6]");
    let one = Tensor::scalar(9i32);
    assert_eq!(filled(&[2, 2], |o| put(o, &[None, Some(ints(&[1], &[0]))], &one)), "[2, 2] [9, 0, 9, 0]");
    assert!(filled(&[2, 2], |o| put(o, &indices, &Tensor::scalar(1i64))).starts_with("error: expected equal dtypes"));
}

#[test]
fn masks() {
    let x = iota(&[2, 3]);
    let mask = Tensor::from_vec(&[3], vec![true, false, true]).unwrap();
    assert_eq!(show(masked_select(&x, &mask)), "[4] [0, 2, 3, 5]");
    let src = Tensor::from_vec(&[5], vec![9i32, 8, 7, 6, 5]).unwrap();
    assert_eq!(filled(&[2, 3], |o| masked_scatter(o, &mask, &src)), "[2, 3] [9, 0, 8, 7, 0, 6]");
    assert_eq!(
        filled(&[4, 3], |o| masked_scatter(o, &mask, &src)),
        "error: Number of elements of source (5) < number of ones in mask (8)"
    );
    let found = nonzero(&x).unwrap();
    assert_eq!(
        (found.strides(), show(Ok(found.clone()))),
        (&[1i64, 5][..], "[5, 2] [0, 1, 0, 2, 1, 0, 1, 1, 1, 2]".into())
    );
    assert_eq!(show(nonzero(&Tensor::scalar(1i32))), "[1, 0] []");
}

#[test]
fn long_slabs_on_several_threads() {
    let n = if cfg!(miri) { 20 } else { 500 };
    let x = iota(&[n, n]);
    let index = ints(&[n], &(0..n).map(|i| (i * 7) % 5).collect::<Vec<_>>());
    let mut out = zeros(&[5, n]);
    update_slabs(&mut out, 0, &index, &x, |a: i32, b: i32| a.wrapping_add(b)).unwrap();
    let (out, x) = (out.freeze().to_vec::<i32>().unwrap(), x.to_vec::<i32>().unwrap());
    let mut want = vec![0i32; 5 * n as usize];
    for i in 0..n {
        for j in 0..n {
            let slot = &mut want[((i * 7) % 5 * n + j) as usize];
            *slot = slot.wrapping_add(x[(i * n + j) as usize]);
        }
    }
    assert_eq!(out, want);
}
