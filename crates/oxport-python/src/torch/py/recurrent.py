# Recurrent layers.

import math

import torch
import torch._C as _C
from torch.nn import init
from torch.nn.module import Module
from torch._C import Parameter


class RNNBase(Module):
    _gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, float(dropout), bidirectional, proj_size
        rows = self._gates[mode] * hidden_size
        state = proj_size or hidden_size
        self._flat_weights_names = []
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            for direction in range(directions):
                width = input_size if layer == 0 else state * directions
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                shapes = [("weight_ih", (rows, width)), ("weight_hh", (rows, state))]
                if bias:
                    shapes += [("bias_ih", (rows,)), ("bias_hh", (rows,))]
                if proj_size:
                    shapes.append(("weight_hr", (proj_size, hidden_size)))
                for name, shape in shapes:
                    setattr(self, name + suffix, Parameter(torch.empty(shape, dtype=dtype)))
                    self._flat_weights_names.append(name + suffix)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for value in self.parameters():
            init.uniform_(value, -bound, bound)

    def flatten_parameters(self):
        return None

    @property
    def all_weights(self):
        return [[getattr(self, name) for name in self._flat_weights_names]]

    def _zeros(self, input, size):
        directions = 2 if self.bidirectional else 1
        batch = () if input.dim() == 2 else (input.shape[0 if self.batch_first else 1],)
        return torch.zeros(self.num_layers * directions, *batch, size, dtype=input.dtype, device=input.device)

    def _run(self, name, input, hx):
        is_batched = input.dim() == 3
        if not is_batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = [state.unsqueeze(1) for state in hx] if isinstance(hx, (tuple, list)) else hx.unsqueeze(1)
        weights = [getattr(self, weight) for weight in self._flat_weights_names]
        result = _C.op(name, input, list(hx) if isinstance(hx, (tuple, list)) else hx, weights, self.bias, self.num_layers, self.dropout,
                       self.training, self.bidirectional, self.batch_first)
        if not is_batched:
            result = (result[0].squeeze(0 if self.batch_first else 1), *[state.squeeze(1) for state in result[1:]])
        return result


class LSTM(RNNBase):
    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input, hx=None):
        if hx is None:
            hx = (self._zeros(input, self.proj_size or self.hidden_size), self._zeros(input, self.hidden_size))
        output, h, c = self._run("lstm", input, hx)
        return output, (h, c)


class GRU(RNNBase):
    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        output, h = self._run("gru", input, self._zeros(input, self.hidden_size) if hx is None else hx)
        return output, h


class RNN(RNNBase):
    def __init__(self, *args, nonlinearity="tanh", **kwargs):
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)

    def forward(self, input, hx=None):
        name = "rnn_tanh" if self.mode == "RNN_TANH" else "rnn_relu"
        output, h = self._run(name, input, self._zeros(input, self.hidden_size) if hx is None else hx)
        return output, h


class RNNCellBase(Module):
    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = Parameter(torch.empty((num_chunks * hidden_size, input_size), dtype=dtype))
        self.weight_hh = Parameter(torch.empty((num_chunks * hidden_size, hidden_size), dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(torch.empty(num_chunks * hidden_size, dtype=dtype)) if bias else None)
        bound = 1.0 / math.sqrt(hidden_size)
        for value in self.parameters():
            init.uniform_(value, -bound, bound)

    def _call(self, name, input, hx):
        return _C.op(name, input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _zeros(self, input):
        return torch.zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype, device=input.device)


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        return self._call("lstm_cell", input, list(hx))


class GRUCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._call("gru_cell", input, self._zeros(input) if hx is None else hx)


class RNNCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        return self._call("rnn_tanh_cell" if self.nonlinearity == "tanh" else "rnn_relu_cell", input, self._zeros(input) if hx is None else hx)
