//! The methods of [`Tensor`], named as in PyTorch.
//!
//! A line of the table is a method: its name, and the names of what it takes in the order of the schema. Anything
//! that an operator takes is taken: tensors, numbers, symbolic sizes, lists. What a method does not offer (keywords,
//! rarer overloads), [`Tensor::call`] does.
//!
//! Laws: a method traces the operator of its name and nothing else; a refused call gives a void tensor, and the
//! tracer keeps the
//! error with the caller's line.

use crate::{SymInt, Tensor, Tracer, Value};

impl Tensor {
    /// Calls an operator on this tensor, `x.call("roll", &[1.into()], &[("dims", 0.into())])`: the first result.
    #[track_caller]
    pub fn call(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Tensor {
        first(&self.tracer, self.call_all(name, args, kwargs))
    }
    /// As [`Tensor::call`], with all results.
    #[track_caller]
    pub fn call_all(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Vec<Tensor> {
        let args: Vec<Value> = [Value::from(self)].iter().chain(args).cloned().collect();
        tensors(self.tracer.lenient(&format!("aten.{name}"), &args, kwargs))
    }
    /// The size of a dimension, counted from the end where negative; 0 where there is none, which refuses the capture.
    pub fn size(&self, dim: i64) -> SymInt {
        let refused = |error| {
            if self.node.is_some() {
                self.tracer.refuse(error);
            }
            SymInt::from(0i64)
        };
        self.try_size(dim).unwrap_or_else(refused)
    }
    /// Split into parts of one size, the last possibly smaller.
    #[track_caller]
    pub fn split(&self, size: impl Into<Value>, dim: i64) -> Vec<Tensor> {
        match size.into() {
            // As `torch.Tensor.split` has it.
            sizes @ Value::List(_) => self.call_all("split_with_sizes", &[sizes, dim.into()], &[]),
            size => self.call_all("split.Tensor", &[size, dim.into()], &[]),
        }
    }
    /// Itself where it is contiguous, as PyTorch's method gives it without a call.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor {
        match self.fake() {
            Some(fake) if fake.strides == oxport_ir::fake::contiguous_strides(&fake.sizes) => self.clone(),
            _ => self.call("contiguous", &[], &[]),
        }
    }
    /// The one number that it holds: an unbacked symbol.
    #[track_caller]
    pub fn item(&self) -> Value {
        self.tracer.lenient("aten.item", &[self.into()], &[])
    }
}

/// The tensors among the results of a call.
pub(crate) fn tensors(value: Value) -> Vec<Tensor> {
    match value {
        Value::Tensor(t) => vec![t],
        Value::List(items) => items.into_iter().flat_map(tensors).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn first(tracer: &Tracer, all: Vec<Tensor>) -> Tensor {
    all.into_iter().next().unwrap_or_else(|| tracer.void())
}

macro_rules! methods {
    ($($name:ident($($arg:ident),*);)*) => {
        impl Tensor {$(
            #[doc = concat!("`torch.", stringify!($name), "`")]
            #[track_caller]
            pub fn $name(&self $(, $arg: impl Into<Value>)*) -> Tensor {
                self.call(stringify!($name), &[$($arg.into()),*], &[])
            }
        )*}
    };
}
macro_rules! several {
    ($($name:ident = $op:literal($($arg:ident),*);)*) => {
        impl Tensor {$(
            #[doc = concat!("`torch.", $op, "`, all of its results.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: impl Into<Value>)*) -> Vec<Tensor> {
                self.call_all($op, &[$($arg.into()),*], &[])
            }
        )*}
    };
}
macro_rules! renamed {
    ($($name:ident = $op:literal($($arg:ident),*);)*) => {
        impl Tensor {$(
            #[doc = concat!("`torch.", $op, "` with these arguments.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: impl Into<Value>)*) -> Tensor {
                self.call($op, &[$($arg.into()),*], &[])
            }
        )*}
    };
}

methods! {
    abs(); abs_(); acos(); acosh(); add(other); add_(other); addcdiv(tensor1, tensor2); addcmul(tensor1, tensor2);
    addmm(mat1, mat2); addmv(mat, vec); alias(); all(); amax(dim, keepdim); amin(dim, keepdim); angle(); any();
    argmax(dim); argmin(dim); argsort(dim); asin(); asinh(); atan(); atan2(other); atanh(); baddbmm(batch1, batch2);
    bernoulli(); bincount(); bitwise_and(other); bitwise_left_shift(other); bitwise_not(); bitwise_or(other);
    bitwise_right_shift(other); bitwise_xor(other); bmm(mat2); broadcast_to(size); bucketize(boundaries); cdist(x2);
    ceil(); celu(alpha); channel_shuffle(groups); clamp(min, max); clamp_(min, max); clamp_max(max); clamp_min(min);
    column_stack(); conj(); copy_(src); copysign(other); cos(); cosh(); count_nonzero(); cross(other, dim);
    cumprod(dim); cumsum(dim); deg2rad(); det(); detach(); detach_(); diag(); diag_embed();
    diagonal(offset, dim1, dim2); diff(); digamma(); div(other); div_(other); dot(tensor); elu(); elu_();
    embedding(indices); eq(other); erf(); erfc(); erfinv(); exp(); exp2(); exp_(); expand(size); expand_as(other);
    expm1(); fill(value); fill_(value); flip(dims); fliplr(); flipud(); float_power(exponent); floor();
    floor_divide(other); fmax(other); fmin(other); fmod(other); frac(); gather(dim, index); gcd(other); ge(other);
    gelu(); glu(dim); group_norm(num_groups, weight, bias, eps); gt(other); hardshrink(lambd); hardsigmoid();
    hardswish(); hardtanh(min, max); heaviside(values); hypot(other); i0();
    im2col(kernel_size, dilation, padding, stride); imag(); index_add(dim, index, source);
    index_copy(dim, index, source); index_fill(dim, index, value); index_select(dim, index); inverse();
    isclose(other); isfinite(); isin(test_elements); isinf(); isnan(); isneginf(); isposinf(); isreal(); kron(other);
    l1_loss(target, reduction); lcm(other); ldexp(other); le(other); leaky_relu(negative_slope);
    leaky_relu_(negative_slope); lerp(end, weight); lgamma(); log(); log10(); log1p(); log2(); log_sigmoid();
    log_softmax(dim); logaddexp(other); logaddexp2(other); logcumsumexp(dim); logical_and(other); logical_not();
    logical_or(other); logical_xor(other); logit(); logsumexp(dim, keepdim); lt(other); masked_fill(mask, value);
    masked_fill_(mask, value); masked_scatter(mask, source); masked_select(mask); matmul(other); matrix_exp();
    matrix_power(n); maximum(other); minimum(other); mish(); mm(mat2); movedim(source, destination);
    mse_loss(target, reduction); mul(other); mul_(other); multinomial(num_samples); mv(vec); nan_to_num(); nanmean();
    nansum(); narrow(dim, start, length); ne(other); neg(); neg_(); nextafter(other);
    nll_loss(target, weight, reduction, ignore_index); nonzero(); one_hot(num_classes); outer(vec2);
    pad(pad, mode, value); permute(dims); pinverse(); pixel_shuffle(upscale_factor);
    pixel_unshuffle(downscale_factor); polar(angle); polygamma(); positive(); pow(exponent); pow_(exponent);
    prelu(weight); rad2deg(); ravel(); real(); reciprocal(); reflection_pad1d(padding); reflection_pad2d(padding);
    relu(); relu6(); relu_(); remainder(other); renorm(p, dim, maxnorm); repeat(repeats);
    repeat_interleave(repeats, dim); replication_pad1d(padding); replication_pad2d(padding); reshape(shape);
    reshape_as(other); roll(shifts, dims); rot90(k, dims); round(); rsqrt(); rsub(other); scatter(dim, index, src);
    scatter_(dim, index, src); scatter_add(dim, index, src); searchsorted(values); select(dim, index);
    select_scatter(src, dim, index); selu(); sgn(); sigmoid(); sigmoid_(); sign(); signbit(); silu(); silu_(); sin();
    sinc(); sinh(); slice_scatter(src, dim, start, end, step); smooth_l1_loss(target, reduction, beta); softmax(dim);
    softplus(beta, threshold); softshrink(lambd); sqrt(); square(); squeeze(dim); std(dim, unbiased, keepdim);
    sub(other); sub_(other); sum_to_size(size); swapaxes(axis0, axis1); t(); take(index);
    take_along_dim(indices, dim); tan(); tanh(); tanh_(); tensordot(other, dims, other_dims);
    threshold(threshold, value); tile(dims); trace(); transpose(dim0, dim1); tril(diagonal); triu(diagonal);
    true_divide(other); trunc(); type_as(other); unflatten(dim, sizes); unfold(dimension, size, step); unsqueeze(dim);
    unsqueeze_(dim); var(dim, unbiased, keepdim); view(size); view_as(other); view_as_complex(); view_as_real();
    xlogy(other); zero_(); adaptive_avg_pool1d(output_size); adaptive_avg_pool2d(output_size);
    adaptive_avg_pool3d(output_size); avg_pool1d(kernel_size, stride, padding, ceil_mode, count_include_pad);
    avg_pool2d(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
    avg_pool3d(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
    batch_norm(weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled);
    bilinear(input2, weight, bias); binary_cross_entropy(target, weight, reduction);
    binary_cross_entropy_with_logits(target, weight, pos_weight, reduction);
    conv1d(weight, bias, stride, padding, dilation, groups); conv2d(weight, bias, stride, padding, dilation, groups);
    conv3d(weight, bias, stride, padding, dilation, groups);
    conv_transpose1d(weight, bias, stride, padding, output_padding, groups, dilation);
    conv_transpose2d(weight, bias, stride, padding, output_padding, groups, dilation);
    conv_transpose3d(weight, bias, stride, padding, output_padding, groups, dilation);
    cosine_similarity(x2, dim, eps); cross_entropy_loss(target, weight, reduction, ignore_index, label_smoothing);
    dropout(p, train); dropout_(p, train); feature_dropout(p, train); alpha_dropout(p, train);
    huber_loss(target, reduction, delta); kl_div(target, reduction);
    instance_norm(weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled);
    layer_norm(normalized_shape, weight, bias, eps, cudnn_enable); linear(weight, bias);
    max_pool1d(kernel_size, stride, padding, dilation, ceil_mode);
    max_pool2d(kernel_size, stride, padding, dilation, ceil_mode);
    max_pool3d(kernel_size, stride, padding, dilation, ceil_mode); rms_norm(normalized_shape, weight, eps);
    scaled_dot_product_attention(key, value, attn_mask, dropout_p, is_causal);
    upsample_bilinear2d(output_size, align_corners); upsample_nearest1d(output_size); upsample_nearest2d(output_size);
    upsample_bicubic2d(output_size, align_corners); new_empty(size); new_full(size, fill_value); new_ones(size);
    new_zeros(size); ones_like(); zeros_like(); full_like(fill_value); rand_like(); randn_like(); empty_like();
}
renamed! {
    copy = "clone"(); all_dim = "all"(dim, keepdim);
    any_dim = "any"(dim, keepdim);
    argmax_keepdim = "argmax"(dim, keepdim);
    flatten = "flatten"(start_dim, end_dim);
    max_all = "max"();
    min_all = "min"();
    mean = "mean"();
    mean_dim = "mean"(dim, keepdim);
    norm_dim = "linalg_vector_norm"(ord, dim, keepdim);
    prod = "prod"();
    prod_dim = "prod"(dim, keepdim);
    squeeze_all = "squeeze"();
    std_all = "std"();
    sum = "sum"();
    sum_dim = "sum"(dim, keepdim);
    to = "to"(target);
    var_all = "var"();
    slice = "slice"(dim, start, end, step);
    index = "index"(indices);
    index_put = "index_put"(indices, values);
    index_put_ = "index_put_"(indices, values);
}
several! {
    aminmax = "aminmax"();
    chunk = "chunk"(chunks, dim);
    kthvalue = "kthvalue"(k, dim);
    max_dim = "max"(dim, keepdim);
    median_dim = "median"(dim, keepdim);
    min_dim = "min"(dim, keepdim);
    mode = "mode"(dim, keepdim);
    sort = "sort"(dim, descending);
    std_mean = "std_mean"(dim, unbiased, keepdim);
    tensor_split = "tensor_split"(sections, dim);
    topk = "topk"(k, dim);
    unbind = "unbind"(dim);
    unique = "_unique2"(sorted, return_inverse, return_counts);
    var_mean = "var_mean"(dim, unbiased, keepdim);
    slogdet = "slogdet"();
    linalg_qr = "linalg_qr"(mode);
}
