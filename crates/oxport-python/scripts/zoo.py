"""Counts the models of torchvision and timm that `oxport capture` captures from their sources, and that give PyTorch's outputs.

By hand: python zoo.py OXPORT torchvision|timm [NAME…]. Each model is made by PyTorch with a fixed seed, its state dict is written, the
sources are captured from site-packages, and the program's output for one drawn input is compared with eager PyTorch's.
"""

import os
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import save_file

SITE = next(p for p in sys.path if p.endswith("site-packages"))
TIMM = """resnet18 resnet50 resnext50_32x4d seresnet50 resnetv2_50 densenet121 vgg11 efficientnet_b0 mobilenetv2_100 mobilenetv3_small_100
vit_tiny_patch16_224 deit_tiny_patch16_224 mixer_s32_224 convnext_atto convmixer_768_32 swin_tiny_patch4_window7_224 regnetx_002
ghostnet_100 hardcorenas_a mnasnet_100 tinynet_a lcnet_050 fbnetc_100 spnasnet_100 dla34 dpn68 inception_v3 xception41 nfnet_l0 hrnet_w18_small
res2net50_26w_4s selecsls42 skresnet18 tresnet_m repvgg_a0 rexnet_100 cait_xxs24_224 coat_tiny crossvit_tiny_240 edgenext_xx_small
efficientformer_l1 gmlp_ti16_224 levit_128s mobilevit_xxs pit_ti_224 poolformer_s12 pvt_v2_b0 resmlp_12_224 twins_svt_small xcit_nano_12_p16_224
botnet26t_256 halonet26t lambda_resnet26t eca_botnext26ts_256 visformer_tiny volo_d1_224 davit_tiny focalnet_tiny_srf fastvit_t8 inception_next_tiny
mobileone_s0 nest_tiny sequencer2d_s tnt_s_patch16_224 vovnet39a cs3darknet_s beit_base_patch16_224 eva02_tiny_patch14_224 flexivit_small
""".split()


def models(kind, names):
    if kind == "torchvision":
        import torchvision.models as zoo

        for name in names or [n for n in zoo.list_models(module=zoo)]:
            source = f"from torchvision.models import {name}\n"
            size = 299 if name == "inception_v3" else 224
            extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
            arguments = ", ".join(["weights=None", *(f"{k}={v}" for k, v in extra.items())])
            yield name, source, f"{name}({arguments})", lambda n=name, e=extra: getattr(zoo, n)(weights=None, **e), size
    else:
        import timm

        for name in names or TIMM:
            if name not in timm.list_models():
                continue
            module = timm.model_entrypoint(name).__module__
            source = f"from {module} import {name}\n"
            try:
                size = timm.create_model(name).default_cfg["input_size"][-1]
            except Exception:
                size = 224
            yield name, source, f"{name}()", lambda n=name: timm.create_model(n), size


def check(oxport, name, source, entry, make, size):
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        model = make().eval()
        state = {k: v.clone().contiguous() for k, v in model.state_dict().items()}
        save_file(state, f"{folder}/w.safetensors")
        x = torch.randn(1, 3, size, size)
        save_file({"in.0": x}, f"{folder}/x.safetensors")
        with open(f"{folder}/entry.py", "w") as f:
            f.write(source)
        begin = time.time()
        command = [oxport, "capture", f"{folder}/entry.py", "--entry", entry, "--input", f"x: f32[1, 3, {size}, {size}]",
                   "--weights", f"{folder}/w.safetensors", "--path", SITE, "-o", f"{folder}/out.pt2"]
        run = subprocess.run(command, capture_output=True, text=True)
        took = time.time() - begin
        if run.returncode:
            return "capture", took, run.stderr.strip()[-600:]
        if " 0 diagnostics" not in run.stdout:
            return "verify", took, run.stdout.strip()[:400]
        command = [oxport, "run", f"{folder}/out.pt2", "--inputs", f"{folder}/x.safetensors", "--outputs", f"{folder}/y.safetensors"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return "run", took, run.stderr.strip()[-400:]
        from safetensors.torch import load_file

        got = next(iter(load_file(f"{folder}/y.safetensors").values()))
        with torch.no_grad():
            expected = model(x)
        expected = expected if torch.is_tensor(expected) else expected[0]
        try:
            torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
        except AssertionError as e:
            return "outputs", took, str(e)[:300]
        return "equal", took, ""


def main():
    oxport, kind, *names = sys.argv[1:]
    counts = {}
    for name, *rest in models(kind, names):
        try:
            result, took, note = check(oxport, name, *rest)
        except Exception as e:
            result, took, note = "pytorch", 0, repr(e)[:200]
        counts[result] = counts.get(result, 0) + 1
        print(f"{name}\t{result}\t{took:.1f}s\t{note.splitlines()[-1] if note else ''}", flush=True)
        if note and os.environ.get("VERBOSE"):
            print(note)
    print(counts)


main()
