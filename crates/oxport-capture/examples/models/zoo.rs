//! The models: a perceptron, ResNet-18, a BERT-like encoder, GPT-2, a Llama block with a cache, and those of [`more`].

#[path = "more.rs"]
mod more;

pub use more::*;

use oxport_capture::nn::*;
use oxport_capture::*;
use oxport_ir::ExportedProgram;
use oxport_tensor::{DType, Tensor as Data};

/// A model with its example inputs.
pub trait Model {
    fn module(&self) -> &dyn Module;
    fn export(&self) -> Result<ExportedProgram>;
}

pub const MODELS: &[(&str, fn() -> Box<dyn Model>)] = &[
    ("mlp", || Box::new(Mlp::new())),
    ("resnet18", || Box::new(ResNet18::new())),
    ("encoder", || Box::new(Encoder::new())),
    ("gpt2", || Box::new(Gpt2::new(40, 64, 32, 4, 2))),
    ("llama", || Box::new(LlamaBlock::new(32, 4))),
    ("unet", || Box::new(UNet::new())),
    ("tagger", || Box::new(Tagger::new())),
    ("vit", || Box::new(Vit::new())),
    ("vae", || Box::new(Vae::new())),
    ("detector", || Box::new(Detector::new())),
    ("decoder", || Box::new(Decoder::new())),
];

/// Says how a model is exported.
macro_rules! model {
    ($t:ty, |$e:ident| $export:expr, |$m:ident, $i:ident| $run:expr) => {
        impl Model for $t {
            fn module(&self) -> &dyn Module {
                self
            }
            fn export(&self) -> Result<ExportedProgram> {
                let $e = Export::new();
                $export.run(self, |$m, $i| $run)
            }
        }
    };
}
use model;

fn floats(sizes: &[i64]) -> Data {
    Data::zeros(DType::F32, sizes).expect("small")
}
fn ints(sizes: &[i64]) -> Data {
    Data::zeros(DType::I64, sizes).expect("small")
}

#[derive(Module)]
#[module(class = "__main__.Mlp")]
pub struct Mlp {
    fc1: Linear,
    act: ReLU,
    drop: Dropout,
    fc2: Linear,
}
impl Mlp {
    pub fn new() -> Mlp {
        Mlp { fc1: Linear::new(8, 16), act: ReLU::default(), drop: Dropout::new(0.1), fc2: Linear::new(16, 3) }
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        self.fc2.call(&self.drop.call(&self.act.call(&self.fc1.call(x)))) + 1.0
    }
}
model!(Mlp, |e| e.arg("x", floats(&[4, 8])).dim("x", 0, Dim::new("batch").max(64)), |m, i| m.forward(&i.tensor("x")));

#[derive(Module)]
#[module(class = "torchvision.models.resnet.BasicBlock")]
struct Block {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    downsample: Option<Sequential>,
}
impl Block {
    fn new(inputs: i64, outputs: i64, stride: i64) -> Block {
        let conv = |i, k: i64, s| Conv2d::grouped(i, outputs, [k; 2], 1, false).padding(k / 2).stride(s);
        let (conv1, conv2) = (conv(inputs, 3, stride), conv(outputs, 3, 1));
        let needs = stride != 1 || inputs != outputs;
        let downsample = needs.then(|| Sequential::new().then(conv(inputs, 1, stride)).then(BatchNorm2d::new(outputs)));
        let relu = ReLU::default().inplace(true);
        Block { conv1, bn1: BatchNorm::new(outputs), relu, conv2, bn2: BatchNorm::new(outputs), downsample }
    }
}
impl Forward<&Tensor> for Block {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let out = self.relu.call(&self.bn1.call(&self.conv1.call(x)));
        let out = self.bn2.call(&self.conv2.call(&out));
        let identity = self.downsample.as_ref().map_or_else(|| x.clone(), |d| d.call(x));
        self.relu.call(&out.add_(identity))
    }
}

#[derive(Module)]
#[module(class = "__main__.ResNet")]
pub struct ResNet18 {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    maxpool: MaxPool2d,
    layer1: Sequential,
    layer2: Sequential,
    layer3: Sequential,
    layer4: Sequential,
    avgpool: AdaptiveAvgPool2d,
    fc: Linear,
}
impl ResNet18 {
    pub fn new() -> ResNet18 {
        let layer = |i, o, s| Sequential::new().then(Block::new(i, o, s)).then(Block::new(o, o, 1));
        ResNet18 {
            conv1: Conv2d::grouped(3, 64, [7; 2], 1, false).stride(2).padding(3),
            bn1: BatchNorm::new(64),
            relu: ReLU::default().inplace(true),
            maxpool: MaxPool2d::new(3, 2).padding(1),
            layer1: layer(64, 64, 1),
            layer2: layer(64, 128, 2),
            layer3: layer(128, 256, 2),
            layer4: layer(256, 512, 2),
            avgpool: AdaptiveAvgPool2d::default(),
            fc: Linear::new(512, 1000),
        }
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.maxpool.call(&self.relu.call(&self.bn1.call(&self.conv1.call(x))));
        let x = self.layer4.call(&self.layer3.call(&self.layer2.call(&self.layer1.call(&x))));
        self.fc.call(&self.avgpool.call(&x).call("flatten", &[1.into()], &[]))
    }
}
model!(ResNet18, |e| e.arg("x", floats(&[2, 3, 64, 64])).dim("x", 0, Dim::Auto), |m, i| m.forward(&i.tensor("x")));

#[derive(Module)]
#[module(class = "__main__.Encoder")]
pub struct Encoder {
    tok: Embedding,
    pos: Embedding,
    norm: LayerNorm,
    encoder: TransformerEncoder,
    head: Linear,
}
impl Encoder {
    pub fn new() -> Encoder {
        let layer = TransformerEncoderLayer::new(32, 4, 64, 0.1).batch_first().gelu();
        Encoder {
            tok: Embedding::new(50, 32),
            pos: Embedding::new(16, 32),
            norm: LayerNorm::new(32),
            encoder: TransformerEncoder::new(&layer, 2),
            head: Linear::new(32, 5),
        }
    }
    fn forward(&self, ids: &Tensor) -> Tensor {
        let positions = ids.tracer().arange(ids.size(1));
        let x = self.norm.call(&(self.tok.call(ids) + self.pos.call(&positions)));
        self.head.call(&self.encoder.call((&x, None)).get([(..).into(), 0.into()]))
    }
}
model!(Encoder, |e| e.arg("ids", ints(&[3, 10])), |m, i| m.forward(&i.tensor("ids")));

/// A linear layer whose weight is `[in, out]`, as GPT-2's state dicts have it.
#[derive(Module)]
#[module(class = "__main__.Conv1D")]
struct Conv1D {
    weight: Parameter,
    bias: Parameter,
}
impl Conv1D {
    fn new(inputs: i64, outputs: i64) -> Conv1D {
        let weight = Parameter::new(normal(&[inputs, outputs], 0.0, 0.02));
        Conv1D { weight, bias: Parameter::new(floats(&[outputs])) }
    }
}
impl Forward<&Tensor> for Conv1D {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.get(), self.bias.get());
        let mut sizes = x.shape();
        sizes.pop();
        sizes.push(weight.size(1));
        bias.addmm(x.view(vec![(-1).into(), x.size(-1)]), weight).view(sizes)
    }
}

#[derive(Module)]
#[module(class = "__main__.Gpt2Attention")]
struct Gpt2Attention {
    c_attn: Conv1D,
    c_proj: Conv1D,
    #[module(skip)]
    heads: i64,
}
impl Forward<&Tensor> for Gpt2Attention {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let (b, t, c) = (x.size(0), x.size(1), x.size(2));
        let qkv = self.c_attn.call(x).split(&c, 2);
        let width = c.floor_div(self.heads);
        let [q, k, v] = [0, 1, 2].map(|i| {
            let sizes: Vec<SymInt> = vec![b.clone(), t.clone(), self.heads.into(), width.clone()];
            qkv.get(i).unwrap_or(x).view(sizes).transpose(1, 2)
        });
        let scale = (width.known().unwrap_or(1) as f64).powf(-0.5);
        let att = q.matmul(k.transpose(-2, -1)) * scale;
        let ones = x.tracer().ones(vec![t.clone(), t.clone()]);
        let mask = ones.call("tril", &[], &[]).eq(0);
        let att = att.masked_fill(mask, f64::NEG_INFINITY).softmax(-1);
        self.c_proj.call(&att.matmul(v).transpose(1, 2).reshape(vec![b, t, c]))
    }
}

#[derive(Module)]
#[module(class = "__main__.Gpt2Mlp")]
struct Gpt2Mlp {
    c_fc: Conv1D,
    c_proj: Conv1D,
    act: GELU,
}
impl Forward<&Tensor> for Gpt2Mlp {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        self.c_proj.call(&self.act.call(&self.c_fc.call(x)))
    }
}

#[derive(Module)]
#[module(class = "__main__.Gpt2Block")]
struct Gpt2Block {
    ln_1: LayerNorm,
    attn: Gpt2Attention,
    ln_2: LayerNorm,
    mlp: Gpt2Mlp,
}
impl Gpt2Block {
    fn new(width: i64, heads: i64) -> Gpt2Block {
        let (c_attn, c_proj) = (Conv1D::new(width, 3 * width), Conv1D::new(width, width));
        let (c_fc, back) = (Conv1D::new(width, 4 * width), Conv1D::new(4 * width, width));
        Gpt2Block {
            ln_1: LayerNorm::new(width),
            attn: Gpt2Attention { c_attn, c_proj, heads },
            ln_2: LayerNorm::new(width),
            mlp: Gpt2Mlp { c_fc, c_proj: back, act: GELU::default().is_tanh(true) },
        }
    }
}
impl Forward<&Tensor> for Gpt2Block {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.attn.call(&self.ln_1.call(x));
        &x + self.mlp.call(&self.ln_2.call(&x))
    }
}

#[derive(Module)]
#[module(class = "__main__.Gpt2Model")]
struct Gpt2Model {
    wte: Embedding,
    wpe: Embedding,
    h: ModuleList<Gpt2Block>,
    ln_f: LayerNorm,
}
impl Forward<&Tensor> for Gpt2Model {
    type Output = Tensor;
    fn forward(&self, ids: &Tensor) -> Tensor {
        let x = self.wte.call(ids) + self.wpe.call(&ids.tracer().arange(ids.size(1)));
        self.ln_f.call(&self.h.iter().fold(x, |x, block| block.call(&x)))
    }
}

/// Named as `GPT2LMHeadModel` of transformers; the head is tied to the embedding.
#[derive(Module)]
#[module(class = "__main__.Gpt2")]
pub struct Gpt2 {
    transformer: Gpt2Model,
    lm_head: Linear,
}
impl Gpt2 {
    pub fn new(words: i64, length: i64, width: i64, heads: i64, layers: usize) -> Gpt2 {
        let transformer = Gpt2Model {
            wte: Embedding::new(words, width),
            wpe: Embedding::new(length, width),
            h: (0..layers).map(|_| Gpt2Block::new(width, heads)).collect(),
            ln_f: LayerNorm::new(width),
        };
        let lm_head = Linear { weight: transformer.wte.weight.clone(), bias: None };
        Gpt2 { transformer, lm_head }
    }
    fn forward(&self, ids: &Tensor) -> Tensor {
        self.lm_head.call(&self.transformer.call(ids))
    }
}
model!(
    Gpt2,
    |e| e.arg("ids", ints(&[2, 6])).dim("ids", 0, Dim::new("b")).dim("ids", 1, Dim::new("t").max(64)),
    |m, i| m.forward(&i.tensor("ids"))
);

#[derive(Module)]
#[module(class = "__main__.LlamaBlock")]
pub struct LlamaBlock {
    norm1: RMSNorm,
    q: Linear,
    k: Linear,
    v: Linear,
    o: Linear,
    norm2: RMSNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
    inv_freq: Buffer,
    #[module(skip)]
    heads: i64,
}
impl LlamaBlock {
    pub fn new(width: i64, heads: i64) -> LlamaBlock {
        let linear = |i, o| Linear::without_bias(i, o);
        let (q, k, v, o) = (linear(width, width), linear(width, width), linear(width, width), linear(width, width));
        let half = width / heads / 2;
        let freq = (0..half).map(|i| 1.0 / 10000f32.powf(i as f32 / half as f32)).collect();
        LlamaBlock {
            norm1: RMSNorm::new(width).eps(1e-6),
            q,
            k,
            v,
            o,
            norm2: RMSNorm::new(width).eps(1e-6),
            gate: linear(width, 2 * width),
            up: linear(width, 2 * width),
            down: linear(2 * width, width),
            inv_freq: Buffer::transient(Data::from_vec(&[half], freq).expect("small")),
            heads,
        }
    }
    fn rotate(x: &Tensor) -> Tensor {
        let parts = x.chunk(2, -1);
        let [a, b] = &parts[..] else { return x.clone() };
        x.tracer().cat(&[-b, a.clone()], -1)
    }
    fn forward(&self, x: &Tensor, cache_k: &Tensor, cache_v: &Tensor) -> (Tensor, Tensor, Tensor) {
        let t = x.tracer();
        let h = self.norm1.call(x);
        let sizes: Vec<SymInt> = vec![x.size(0), x.size(1), self.heads.into(), (-1i64).into()];
        let [q, k, v] = [&self.q, &self.k, &self.v].map(|l| l.call(&h).view(sizes.clone()).transpose(1, 2));
        let (past, now) = (cache_k.size(2), x.size(1));
        let positions = t.make("arange", &[(&past).into(), (&past + &now).into()], &[]);
        let angles = t.einsum("t,f->tf", &[positions.call("to", &[DType::F32.into()], &[]), self.inv_freq.get()]);
        let angles = t.cat(&[angles.clone(), angles], -1);
        let (cos, sin) = (angles.cos(), angles.sin());
        let turned = |x: &Tensor| x * &cos + LlamaBlock::rotate(x) * &sin;
        let (q, k) = (turned(&q), turned(&k));
        let (k, v) = (t.cat(&[cache_k.clone(), k], 2), t.cat(&[cache_v.clone(), v], 2));
        let y = q.scaled_dot_product_attention(&k, &v, Value::None, 0.0, false);
        let y = y.transpose(1, 2).reshape(vec![x.size(0), x.size(1), x.size(2)]);
        let x = x + self.o.call(&y);
        let h = self.norm2.call(&x);
        (&x + self.down.call(&(self.gate.call(&h).silu() * self.up.call(&h))), k, v)
    }
}
model!(
    LlamaBlock,
    |e| e.arg("x", floats(&[2, 3, 32])).arg("cache_k", floats(&[2, 4, 5, 8])).arg("cache_v", floats(&[2, 4, 5, 8])),
    |m, i| m.forward(&i.tensor("x"), &i.tensor("cache_k"), &i.tensor("cache_v"))
);
