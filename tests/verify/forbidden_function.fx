# test verify
def forward(self, x: "f32[2, 3]"):
    load: "f32[2, 3]" = torch.load(x)
    return (load,)
