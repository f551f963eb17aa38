//! More models: a U-Net, an LSTM tagger, a vision transformer, a VAE, a detector whose boxes depend on data, and a
//! decoder that is a loop.

use super::{Model, floats, ints, model};
use oxport_capture::nn::*;
use oxport_capture::*;
use oxport_ir::ExportedProgram;
use oxport_tensor::{DType, Tensor as Data};

#[derive(Module)]
#[module(class = "__main__.UNet")]
pub struct UNet {
    down1: Sequential,
    pool: MaxPool2d,
    down2: Sequential,
    middle: Sequential,
    up2: ConvTranspose2d,
    conv2: Sequential,
    up1: ConvTranspose2d,
    conv1: Sequential,
    out: Conv2d,
}
impl UNet {
    pub fn new() -> UNet {
        let conv = |i, o| Conv2d::grouped(i, o, [3; 2], 1, false).padding(1);
        let relu = || ReLU::default().inplace(true);
        let double = |i, o| {
            let first = Sequential::new().then(conv(i, o)).then(BatchNorm2d::new(o)).then(relu());
            first.then(conv(o, o)).then(BatchNorm2d::new(o)).then(relu())
        };
        let up = |i, o| ConvTranspose2d::new(i, o, 2).stride(2);
        UNet {
            down1: double(1, 8),
            pool: MaxPool2d::new(2, 2),
            down2: double(8, 16),
            middle: double(16, 32),
            up2: up(32, 16),
            conv2: double(32, 16),
            up1: up(16, 8),
            conv1: double(16, 8),
            out: Conv2d::new(8, 2, 1),
        }
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let cat = |a: Tensor, b: Tensor| x.tracer().cat(&[a, b], 1);
        let a = self.down1.call(x);
        let b = self.down2.call(&self.pool.call(&a));
        let c = self.middle.call(&self.pool.call(&b));
        let x = self.conv2.call(&cat(self.up2.call(&c), b));
        let x = self.conv1.call(&cat(self.up1.call(&x), a));
        self.out.call(&x)
    }
}
model!(UNet, |e| e.arg("x", floats(&[2, 1, 16, 16])).dim("x", 0, Dim::new("batch")), |m, i| m.forward(&i.tensor("x")));

#[derive(Module)]
#[module(class = "__main__.Tagger")]
pub struct Tagger {
    emb: Embedding,
    lstm: LSTM,
    out: Linear,
}
impl Tagger {
    pub fn new() -> Tagger {
        let (emb, lstm) = (Embedding::new(20, 8), LSTM::stacked(8, 6, 2, true).batch_first());
        Tagger { emb, lstm, out: Linear::new(12, 4) }
    }
    fn forward(&self, ids: &Tensor) -> Tensor {
        let (all, _) = self.lstm.call(&self.emb.call(ids));
        self.out.call(&all).log_softmax(-1)
    }
}
model!(Tagger, |e| e.arg("ids", ints(&[2, 7])), |m, i| m.forward(&i.tensor("ids")));

#[derive(Module)]
#[module(class = "__main__.Vit")]
pub struct Vit {
    cls: Parameter,
    pos: Parameter,
    patch: Conv2d,
    encoder: TransformerEncoder,
    norm: LayerNorm,
    head: Linear,
}
impl Vit {
    pub fn new() -> Vit {
        let layer = TransformerEncoderLayer::new(32, 4, 64, 0.0).batch_first().gelu().norm_first();
        Vit {
            cls: Parameter::new(normal(&[1, 1, 32], 0.0, 0.02)),
            pos: Parameter::new(normal(&[1, 17, 32], 0.0, 0.02)),
            patch: Conv2d::new(3, 32, 8).stride(8),
            encoder: TransformerEncoder::new(&layer, 2),
            norm: LayerNorm::new(32),
            head: Linear::new(32, 10),
        }
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.patch.call(x).call("flatten", &[2.into()], &[]).transpose(1, 2);
        let sizes: Vec<SymInt> = vec![x.size(0), (-1).into(), (-1).into()];
        let x = x.tracer().cat(&[self.cls.get().expand(sizes), x.clone()], 1) + self.pos.get();
        self.head.call(&self.norm.call(&self.encoder.call((&x, None)).select(1, 0)))
    }
}
model!(Vit, |e| e.arg("x", floats(&[2, 3, 32, 32])).dim("x", 0, Dim::new("batch")), |m, i| m.forward(&i.tensor("x")));

#[derive(Module)]
#[module(class = "__main__.Vae")]
pub struct Vae {
    enc: Linear,
    mu: Linear,
    logvar: Linear,
    dec: Sequential,
}
impl Vae {
    pub fn new() -> Vae {
        let (enc, mu, logvar) = (Linear::new(12, 8), Linear::new(8, 2), Linear::new(8, 2));
        let dec = Sequential::new().then(Linear::new(2, 8)).then(ReLU::default()).then(Linear::new(8, 12));
        Vae { enc, mu, logvar, dec: dec.then(Sigmoid::default()) }
    }
    fn forward(&self, x: &Tensor, noise: &Tensor) -> (Tensor, Tensor, Tensor) {
        let h = self.enc.call(x).relu();
        let (mu, logvar) = (self.mu.call(&h), self.logvar.call(&h));
        let z = &mu + noise * (&logvar * 0.5).exp();
        (self.dec.call(&z), mu, logvar)
    }
}
model!(
    Vae,
    |e| e.arg("x", floats(&[4, 12])).arg("noise", floats(&[4, 2])).dim("x", 0, Dim::new("batch")).dim(
        "noise",
        0,
        Dim::new("batch")
    ),
    |m, i| m.forward(&i.tensor("x"), &i.tensor("noise"))
);

/// Boxes of sufficient score, the best first, without those that a better one covers.
#[derive(Module)]
#[module(class = "__main__.Detector")]
pub struct Detector {
    conv: Conv2d,
    score: Conv2d,
    #[module(name = "box")]
    boxes: Conv2d,
}
impl Detector {
    pub fn new() -> Detector {
        let conv = Conv2d::new(3, 8, 3).stride(2).padding(1);
        Detector { conv, score: Conv2d::new(8, 1, 1), boxes: Conv2d::new(8, 4, 1) }
    }
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let f = self.conv.call(x).relu();
        let scores = self.score.call(&f).sigmoid().call("flatten", &[], &[]);
        let boxes = self.boxes.call(&f).squeeze(0).permute([1, 2, 0]).reshape([-1i64, 4]);
        let keep = scores.gt(0.5).nonzero().squeeze(1);
        let sorted = scores.get([(&keep).into()]).sort(-1, true);
        let [scores, order] = &sorted[..] else { return (scores, boxes) };
        let boxes = boxes.get([(&keep).into()]).get([order.into()]);
        let low = boxes.get([(..).into(), (..2).into()]);
        let extent = boxes.get([(..).into(), (2..).into()]).exp();
        let high = &low + &extent;
        let least = low.unsqueeze(1).maximum(&low);
        let most = high.unsqueeze(1).minimum(&high);
        let common = (most - least).clamp_min(0).call("prod", &[(-1).into()], &[]);
        let area = extent.call("prod", &[(-1).into()], &[]);
        let overlap = &common / (area.unsqueeze(1) + &area - &common);
        let is_covered = overlap.triu(1).gt(0.5).call("any", &[0.into()], &[]);
        let shown = (!is_covered).nonzero().squeeze(1);
        (boxes.get([(&shown).into()]), scores.get([(&shown).into()]))
    }
}
model!(Detector, |e| e.arg("x", floats(&[1, 3, 16, 16])), |m, i| m.forward(&i.tensor("x")));

/// Greedy decoding: ends with word 0, or after ten words.
#[derive(Module)]
#[module(class = "__main__.Decoder")]
pub struct Decoder {
    emb: Embedding,
    cell: GRUCell,
    out: Linear,
}
impl Decoder {
    pub fn new() -> Decoder {
        Decoder { emb: Embedding::new(20, 16), cell: GRUCell::new(16, 16), out: Linear::new(16, 20) }
    }
    fn forward(&self, word: &Tensor, state: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let t = word.tracer();
        let places = t.arange(10);
        let zeros = |sizes: &[i64]| t.make("zeros", &[sizes.into()], &[("dtype", DType::I64.into())]);
        let first = [zeros(&[]), word.clone(), state.clone(), zeros(&[10])];
        let last = t.while_loop(
            &first,
            |c| c[0].lt(10) & c[1].ne(0),
            |c| {
                let [i, word, state, words] = c else { return Vec::new() };
                let state = self.cell.call((&self.emb.call(word).unsqueeze(0), std::slice::from_ref(state)));
                let word = self.out.call(&state[0]).squeeze(0).call("argmax", &[], &[]);
                let next = i + 1;
                let words = t.select_where(&places.eq(i), &word, words);
                vec![next, word, state[0].clone(), words]
            },
        )?;
        let [count, _, state, words] = &last[..] else { return Err(Error::invalid("expected four tensors")) };
        Ok((count.clone(), words.clone(), state.clone()))
    }
}
impl Model for Decoder {
    fn module(&self) -> &dyn Module {
        self
    }
    fn export(&self) -> Result<ExportedProgram> {
        let word = Data::from_vec(&[], vec![1i64])?;
        Export::new().arg("word", word).arg("state", floats(&[1, 16])).run(self, |m, i| {
            m.forward(&i.tensor("word"), &i.tensor("state")).map_err(|error| i.tracer().refuse(error)).ok()
        })
    }
}
