# torch.nn.

from torch._C import Parameter  # noqa: F401
from torch.nn import init  # noqa: F401
from torch.nn.module import *  # noqa: F401,F403
from torch.nn.layers import *  # noqa: F401,F403
from torch.nn.convolution import *  # noqa: F401,F403
from torch.nn.pooling import *  # noqa: F401,F403
from torch.nn.recurrent import *  # noqa: F401,F403
from torch.nn.attention_layers import *  # noqa: F401,F403
from torch.nn.losses import *  # noqa: F401,F403
from torch.nn import functional, modules, parameter, utils  # noqa: F401,E402

from torch.nn.parameter import Buffer
Container = Module  # noqa: F405


# Without a GPU, the module itself.
class DataParallel(Module):  # noqa: F405
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.dim, self.module, self.device_ids = dim, module, []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
