//! Dictionaries of tensors, as `torch.save` writes them.

use std::collections::HashMap;
use std::io;

use oxport_ir::StateTensor;
use oxport_tensor::{DType, Storage};

use super::rebuild::{UNTYPED, storage_class};
use crate::zip::ZipWriter;

/// A dictionary of tensors while it is pickled, by protocol 2. Tensors of one storage and dtype share it.
pub(crate) struct TensorPickle {
    code: Vec<u8>,
    storages: Vec<Storage>,
    known: HashMap<(usize, DType), usize>,
}

impl TensorPickle {
    pub(crate) fn new() -> TensorPickle {
        // PROTO 2, EMPTY_DICT
        TensorPickle { code: b"\x80\x02}".to_vec(), storages: Vec::new(), known: HashMap::new() }
    }

    /// The file that `torch.save(None)` writes.
    pub(crate) fn none() -> io::Result<Vec<u8>> {
        packed(b"\x80\x02N.", &[])
    }

    /// Sets an entry: its key and tensor on the stack, then SETITEM.
    pub(crate) fn tensor(&mut self, name: &str, state: &StateTensor) {
        self.text(name);
        if state.is_param {
            self.global("torch._utils", "_rebuild_parameter");
            self.code.push(b'(');
        }
        let (tensor, layout) = (&state.tensor, state.tensor.layout());
        let class = storage_class(tensor.dtype());
        // Dtypes without a storage class are written with an untyped storage.
        let version = if class.is_some() { "_rebuild_tensor_v2" } else { "_rebuild_tensor_v3" };
        self.global("torch._utils", version);
        self.code.push(b'(');
        self.storage(tensor.storage(), tensor.dtype());
        self.int(layout.offset as i64);
        self.ints(tensor.sizes());
        self.ints(tensor.strides());
        self.flag(state.requires_grad && !state.is_param);
        self.ordered_dict();
        if class.is_none() {
            self.global("torch", tensor.dtype().name());
        }
        // TUPLE, REDUCE
        self.code.extend(b"tR");
        if state.is_param {
            self.flag(state.requires_grad);
            self.ordered_dict();
            self.code.extend(b"tR");
        }
        self.code.push(b's');
    }

    /// The file.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.code.push(b'.');
        packed(&self.code, &self.storages)
    }

    /// The persistent id `('storage', torch.FloatStorage, key, 'cpu', elements)`.
    fn storage(&mut self, storage: &Storage, dtype: DType) {
        let next = self.storages.len();
        let key = *self.known.entry((storage.id(), dtype)).or_insert(next);
        if key == next {
            self.storages.push(storage.clone());
        }
        self.code.push(b'(');
        self.text("storage");
        let class = storage_class(dtype);
        let (module, name) = class.map_or(UNTYPED, |class| ("torch", class));
        self.global(module, name);
        self.text(&key.to_string());
        self.text("cpu");
        self.int((storage.len_bytes() / class.map_or(1, |_| dtype.size())) as i64);
        self.code.extend(b"tQ");
    }

    fn global(&mut self, module: &str, name: &str) {
        self.code.extend(format!("c{module}\n{name}\n").bytes());
    }

    fn ordered_dict(&mut self) {
        self.global("collections", "OrderedDict");
        self.code.extend(b")R");
    }

    fn text(&mut self, text: &str) {
        self.code.push(b'X');
        self.code.extend((text.len() as u32).to_le_bytes());
        self.code.extend(text.bytes());
    }

    fn ints(&mut self, list: &[i64]) {
        self.code.push(b'(');
        list.iter().for_each(|n| self.int(*n));
        self.code.push(b't');
    }

    fn int(&mut self, n: i64) {
        match i32::try_from(n) {
            Ok(n) => {
                self.code.push(b'J');
                self.code.extend(n.to_le_bytes());
            }
            Err(_) => {
                self.code.extend([0x8a, 8]);
                self.code.extend(n.to_le_bytes());
            }
        }
    }

    fn flag(&mut self, flag: bool) {
        self.code.push(if flag { 0x88 } else { 0x89 });
    }
}

fn packed(code: &[u8], storages: &[Storage]) -> io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Vec::new());
    zip.add("archive/data.pkl", code)?;
    zip.add("archive/byteorder", b"little")?;
    for (i, storage) in storages.iter().enumerate() {
        zip.add(&format!("archive/data/{i}"), storage.bytes())?;
    }
    zip.add("archive/version", b"3\n")?;
    zip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pickle::{Pickled, TorchFile};
    use crate::{Limits, Result};
    use oxport_tensor::{Layout, Tensor};

    #[test]
    fn written_dictionaries_are_read_back() -> Result<()> {
        let base = Tensor::from_vec(&[2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let row =
            Tensor::from_storage(base.storage().clone(), DType::F32, Layout::new(&[3], &[1], 3).unwrap()).unwrap();
        let narrow = base.to_dtype(DType::F8E4M3FN).unwrap();
        let mut pickle = TensorPickle::new();
        pickle.tensor("base", &StateTensor { requires_grad: true, ..StateTensor::new(base.clone(), true) });
        pickle.tensor("row", &StateTensor::new(row.clone(), false));
        pickle.tensor("narrow", &StateTensor::new(narrow.clone(), false));
        let bytes = pickle.finish().unwrap();
        let file = TorchFile::read("t", &Storage::copy_of(&bytes).unwrap(), &Limits::default())?;
        let read = |key: &str| match file.value.get(key) {
            Some(Pickled::Tensor(tensor)) => (file.tensor(tensor).unwrap(), tensor.is_param, tensor.requires_grad),
            other => panic!("{key}: {other:?}"),
        };
        for (key, tensor, is_param) in [("base", &base, true), ("row", &row, false), ("narrow", &narrow, false)] {
            let (back, param, grad) = read(key);
            assert_eq!((back.dtype(), back.sizes(), param, grad), (tensor.dtype(), tensor.sizes(), is_param, is_param));
            assert_eq!(back.contiguous().unwrap().bytes(), tensor.contiguous().unwrap().bytes(), "{key}");
        }
        assert!(read("base").0.storage().same_storage(read("row").0.storage()));
        let none =
            TorchFile::read("t", &Storage::copy_of(&TensorPickle::none().unwrap()).unwrap(), &Limits::default())?;
        assert_eq!(none.value, Pickled::None);
        Ok(())
    }
}
