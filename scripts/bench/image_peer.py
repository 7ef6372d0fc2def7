#!/usr/bin/python3
"""Times training steps of resnet (ResNet-18) and unet written in PyTorch: the peer of images.py. Needs python3-torch.

  scripts/bench/image_peer.py [--threads 2] [--only resnet,unet] [--runs 5] [--channels-last]

The models are those of models/resnet.json and models/unet.json, with the same sizes and the same optimizer. Prints a JSON
object a line."""
import peer
import torch
import torch.nn.functional as F
from torch import nn


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class ConvNorm(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3, stride=1, relu=True):
        parts = [conv(inputs, outputs, kernel, stride), nn.BatchNorm2d(outputs)]
        super().__init__(*parts, *([nn.ReLU(inplace=True)] if relu else []))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = ConvNorm(inputs, outputs, 3, stride), ConvNorm(outputs, outputs, relu=False)
        self.short = ConvNorm(inputs, outputs, 1, stride, relu=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.short(x) + self.second(self.first(x)))


class ResNet(nn.Module):
    def __init__(self, width=64, classes=1000):
        super().__init__()
        self.stem = ConvNorm(3, width, 7, 2)
        layers, inputs = [], width
        for stage in range(4):
            outputs = width << stage
            layers += [Residual(inputs, outputs, 2 if stage else 1), Residual(outputs, outputs, 1)]
            inputs = outputs
        self.layers, self.last = nn.Sequential(*layers), nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.layers(F.max_pool2d(self.stem(x), 3, 2, 1))
        return self.last(x.mean((2, 3)))


class UNet(nn.Module):
    def __init__(self, width=32, classes=2, levels=4):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.encoders = nn.ModuleList(nn.Sequential(ConvNorm(a, b), ConvNorm(b, b)) for a, b in zip([3] + widths, widths))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:-1])
        self.decoders = nn.ModuleList(nn.Sequential(ConvNorm(2 * w, w), ConvNorm(w, w)) for w in widths[:-1])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for level, encoder in enumerate(self.encoders):
            x = encoder(F.max_pool2d(x, 2) if level else x)
            kept.append(x)
        for level in reversed(range(len(self.ups))):
            x = self.decoders[level](torch.cat([kept[level], self.ups[level](x)], 1))
        return self.last(x)


def median_seconds(name, args):
    if name == "resnet":
        model, images = ResNet(), torch.randn(args.batch or 8, 3, 224, 224)
        labels = torch.randint(0, 1000, (len(images),))
    else:
        model, images = UNet(), torch.randn(args.batch or 1, 3, 256, 256)
        labels = torch.randint(0, 2, (len(images), 256, 256))
    if args.channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return peer.median_step_seconds(model, optimizer, lambda model: F.cross_entropy(model(images), labels), args.runs)


def add_arguments(parser):
    parser.add_argument("--batch", type=int, default=0, help="images in a step (default: 8 for resnet, 1 for unet)")
    parser.add_argument("--channels-last", action="store_true", help="keep the channels of an element side by side")


if __name__ == "__main__":
    peer.run(__doc__, ["resnet", "unet"], median_seconds, add_arguments)
