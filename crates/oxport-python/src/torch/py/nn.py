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
