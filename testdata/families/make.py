#!/usr/bin/env python3
"""Small published models with random weights: their config.json, weights in two shards with an index, tokens, the logits
of these tokens, and the tokens that a greedy generation adds to the first four of each row. The models are written here
from their papers, in NumPy and f64, one function each.

  testdata/families/make.py [NAME...]     writes testdata/families/NAME/
"""
import json
import math
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROWS, LENGTH, PROMPT, NEW = 2, 12, 4, 6


# Parts.


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rms(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def layer_norm(x, weight, bias, eps):
    c = x - x.mean(-1, keepdims=True)
    y = c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * weight
    return y if bias is None else y + bias


def heads_of(x, heads):
    """[rows, length, heads * size] as [rows, heads, length, size]."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def turned(x, frequencies, scale=1.0):
    """Rotary positions on the first 2 * len(frequencies) elements of each head, in two halves."""
    half = len(frequencies)
    angles = np.arange(x.shape[2])[:, None] * np.asarray(frequencies)[None]
    cos, sin = np.cos(angles) * scale, np.sin(angles) * scale
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)


def plain_frequencies(base, size):
    return [base ** (-2 * i / size) for i in range(size // 2)]


def attend(q, k, v, scale, window=None, cap=None, sinks=None, slopes=None):
    """Causal attention of [rows, heads, length, size], where several heads of q share one of k and v."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    if cap is not None:
        scores = cap * np.tanh(scores / cap)
    n = q.shape[2]
    behind = np.arange(n)[:, None] - np.arange(n)[None]
    if slopes is not None:
        scores = scores - np.asarray(slopes)[None, :, None, None] * behind
    hidden = behind < 0
    if window is not None:
        hidden = hidden | (behind >= window)
    scores = np.where(hidden, -np.inf, scores)
    if sinks is None:
        return softmax(scores) @ v
    extra = np.broadcast_to(sinks[None, :, None, None], scores.shape[:3] + (1,))
    return softmax(np.concatenate([scores, extra], -1))[..., :-1] @ v


# Models. Each is a config, the shapes of the weights, and a function from tokens to logits.


def llama_shapes(c, biases=(), qk=None):
    d, f, v = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    h, g = c["num_attention_heads"], c.get("num_key_value_heads", c["num_attention_heads"])
    s = c.get("head_dim") or d // h
    shapes = {"model.embed_tokens.weight": (v, d), "model.norm.weight": (d,)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        shapes |= {p + "self_attn.q_proj.weight": (h * s, d), p + "self_attn.k_proj.weight": (g * s, d),
                   p + "self_attn.v_proj.weight": (g * s, d), p + "self_attn.o_proj.weight": (d, h * s),
                   p + "mlp.gate_proj.weight": (f, d), p + "mlp.up_proj.weight": (f, d),
                   p + "mlp.down_proj.weight": (d, f), p + "input_layernorm.weight": (d,),
                   p + "post_attention_layernorm.weight": (d,)}
        shapes |= {p + f"self_attn.{b}_proj.bias": ({"q": h * s, "k": g * s, "v": g * s, "o": d}[b],) for b in biases}
        if qk == "head":
            shapes |= {p + "self_attn.q_norm.weight": (s,), p + "self_attn.k_norm.weight": (s,)}
        if qk == "whole":
            shapes |= {p + "self_attn.q_norm.weight": (h * s,), p + "self_attn.k_norm.weight": (g * s,)}
    if not c.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (v, d)
    return shapes


def linear(w, name, x):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def llama(c, w, tokens, frequencies=None, window=lambda layer: None):
    """Llama, and with what their configs state Mistral, Qwen2 and Qwen3."""
    h, g = c["num_attention_heads"], c.get("num_key_value_heads", c["num_attention_heads"])
    s = c.get("head_dim") or c["hidden_size"] // h
    eps = c["rms_norm_eps"]
    frequencies = frequencies or plain_frequencies(c["rope_theta"], s)
    x = w["model.embed_tokens.weight"][tokens]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        n = rms(x, w[p + "input_layernorm.weight"], eps)
        q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", h), ("k", g), ("v", g)))
        if p + "self_attn.q_norm.weight" in w:
            q, k = rms(q, w[p + "self_attn.q_norm.weight"], eps), rms(k, w[p + "self_attn.k_norm.weight"], eps)
        o = attend(turned(q, frequencies), turned(k, frequencies), v, s**-0.5, window(i))
        x = x + linear(w, p + "self_attn.o_proj", joined(o))
        n = rms(x, w[p + "post_attention_layernorm.weight"], eps)
        x = x + linear(w, p + "mlp.down_proj", silu(linear(w, p + "mlp.gate_proj", n)) * linear(w, p + "mlp.up_proj", n))
    x = rms(x, w["model.norm.weight"], eps)
    return x @ w["model.embed_tokens.weight" if c.get("tie_word_embeddings") else "lm_head.weight"].T


def llama3_frequencies(scaling, base, size):
    """Llama 3.1: slow pairs are slowed down by the factor, fast ones are not."""
    result = []
    for f in plain_frequencies(base, size):
        turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
        if turns < scaling["low_freq_factor"]:
            f /= scaling["factor"]
        elif turns <= scaling["high_freq_factor"]:
            kept = (turns - scaling["low_freq_factor"]) / (scaling["high_freq_factor"] - scaling["low_freq_factor"])
            f = (1 - kept) * f / scaling["factor"] + kept * f
        result.append(f)
    return result


def yarn_frequencies(scaling, base, size):
    """YaRN (Peng et al. 2023), and what cosines and sines are multiplied by."""
    original, factor = scaling["original_max_position_embeddings"], scaling["factor"]

    def pair_of(turns):
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    down, up = (math.floor, math.ceil) if scaling.get("truncate", True) else (float, float)
    low = max(down(pair_of(scaling.get("beta_fast", 32))), 0)
    high = min(up(pair_of(scaling.get("beta_slow", 1))), size - 1)
    result = []
    for i, f in enumerate(plain_frequencies(base, size)):
        slowed = min(max((i - low) / max(high - low, 0.001), 0), 1)
        result.append(f / factor * slowed + f * (1 - slowed))
    return result, 0.1 * math.log(factor) + 1


SMALL = {"hidden_size": 32, "intermediate_size": 44, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "vocab_size": 80, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "torch_dtype": "float32", "use_cache": True}


def make_llama():
    c = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rope_theta": 10000.0,
         "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "rope_scaling": None, **SMALL}
    return c, llama_shapes(c), lambda w, t: llama(c, w, t)


def make_llama_3():
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 24,
               "rope_type": "llama3"}
    c = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rope_theta": 500.0,
         "tie_word_embeddings": True, "attention_bias": True, "head_dim": 16, "rope_scaling": scaling, **SMALL}
    frequencies = llama3_frequencies(scaling, c["rope_theta"], 16)
    return c, llama_shapes(c, biases="qkvo"), lambda w, t: llama(c, w, t, frequencies)


def make_mistral():
    c = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_act": "silu", "rope_theta": 10000.0,
         "tie_word_embeddings": False, "sliding_window": 5, **SMALL}
    return c, llama_shapes(c), lambda w, t: llama(c, w, t, window=lambda layer: 5)


def make_qwen2():
    c = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu", "rope_theta": 1000000.0,
         "tie_word_embeddings": True, "sliding_window": 4, "use_sliding_window": True, "max_window_layers": 1, **SMALL}
    return (c, llama_shapes(c, biases="qkv"),
            lambda w, t: llama(c, w, t, window=lambda layer: 4 if layer >= 1 else None))


def make_qwen3():
    c = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "rope_theta": 1000000.0,
         "tie_word_embeddings": False, "head_dim": 12, "attention_bias": False, "sliding_window": None,
         "use_sliding_window": False, "max_window_layers": 2, "rope_scaling": None, **SMALL}
    return c, llama_shapes(c, qk="head"), lambda w, t: llama(c, w, t)


def gemma(c, w, tokens, norms, frequencies, window):
    """Gemma 2 and 3: norms with factors 1 + weight, before and after each part; embeddings times the root of the width."""
    h, g, s, eps = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], c["rms_norm_eps"]
    x = w["model.embed_tokens.weight"][tokens] * math.sqrt(c["hidden_size"])
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        norm = lambda name, x: rms(x, 1 + w[p + name + ".weight"], eps)
        n = norm("input_layernorm", x)
        q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", h), ("k", g), ("v", g)))
        if norms:
            q, k = norm("self_attn.q_norm", q), norm("self_attn.k_norm", k)
        f = frequencies(i)
        o = attend(turned(q, f), turned(k, f), v, c["query_pre_attn_scalar"]**-0.5, window(i), c["attn_logit_softcapping"])
        x = x + norm("post_attention_layernorm", linear(w, p + "self_attn.o_proj", joined(o)))
        n = norm("pre_feedforward_layernorm", x)
        m = gelu_tanh(linear(w, p + "mlp.gate_proj", n)) * linear(w, p + "mlp.up_proj", n)
        x = x + norm("post_feedforward_layernorm", linear(w, p + "mlp.down_proj", m))
    logits = rms(x, 1 + w["model.norm.weight"], eps) @ w["model.embed_tokens.weight"].T
    cap = c["final_logit_softcapping"]
    return logits if cap is None else cap * np.tanh(logits / cap)


def gemma_shapes(c, qk=None):
    shapes = llama_shapes(c, qk=qk)
    for i in range(c["num_hidden_layers"]):
        for name in ("pre", "post"):
            shapes[f"model.layers.{i}.{name}_feedforward_layernorm.weight"] = (c["hidden_size"],)
    return shapes


def make_gemma2():
    c = {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh", "hidden_act": "gelu_pytorch_tanh",
         "head_dim": 12, "query_pre_attn_scalar": 20, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
         "sliding_window": 4, "rope_theta": 10000.0, "attention_bias": False, "tie_word_embeddings": True, **SMALL}
    frequencies = plain_frequencies(10000, 12)
    return (c, gemma_shapes(c),
            lambda w, t: gemma(c, w, t, False, lambda i: frequencies, lambda i: 4 if i % 2 == 0 else None))


def make_gemma3_text():
    c = {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh",
         "head_dim": 12, "query_pre_attn_scalar": 10, "attn_logit_softcapping": None, "final_logit_softcapping": None,
         "sliding_window": 4, "sliding_window_pattern": 2, "rope_theta": 100000.0, "rope_local_base_freq": 1000.0,
         "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "attention_bias": False, "tie_word_embeddings": True,
         **SMALL, "num_hidden_layers": 3}
    far = [f / 8 for f in plain_frequencies(100000, 12)]
    near = plain_frequencies(1000, 12)
    local = lambda i: (i + 1) % 2 != 0
    return (c, gemma_shapes(c, "head"),
            lambda w, t: gemma(c, w, t, True, lambda i: near if local(i) else far, lambda i: 4 if local(i) else None))


def make_olmo2():
    c = {"architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2", "hidden_act": "silu", "rope_theta": 500000.0,
         "tie_word_embeddings": False, "attention_bias": False, "rope_scaling": None, **SMALL}
    shapes = {n: s for n, s in llama_shapes(c, qk="whole").items() if "input_layernorm" not in n}
    for i in range(c["num_hidden_layers"]):
        shapes[f"model.layers.{i}.post_feedforward_layernorm.weight"] = (c["hidden_size"],)

    def logits(w, tokens):
        h, g, s, eps = 4, 2, 8, c["rms_norm_eps"]
        f = plain_frequencies(c["rope_theta"], s)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            q, k, v = (x @ w[p + f"self_attn.{b}_proj.weight"].T for b in "qkv")
            q, k = rms(q, w[p + "self_attn.q_norm.weight"], eps), rms(k, w[p + "self_attn.k_norm.weight"], eps)
            o = attend(turned(heads_of(q, h), f), turned(heads_of(k, g), f), heads_of(v, g), s**-0.5)
            x = x + rms(linear(w, p + "self_attn.o_proj", joined(o)), w[p + "post_attention_layernorm.weight"], eps)
            m = linear(w, p + "mlp.down_proj", silu(linear(w, p + "mlp.gate_proj", x)) * linear(w, p + "mlp.up_proj", x))
            x = x + rms(m, w[p + "post_feedforward_layernorm.weight"], eps)
        return rms(x, w["model.norm.weight"], eps) @ w["lm_head.weight"].T

    return c, shapes, logits


def biased(names, shapes):
    """Adds the bias of each weight."""
    return {n + ".bias": (shapes[n + ".weight"][0],) for n in names} | shapes


def make_starcoder2():
    c = {k: v for k, v in SMALL.items() if k != "rms_norm_eps"}
    c |= {"architectures": ["Starcoder2ForCausalLM"], "model_type": "starcoder2", "hidden_act": "gelu_pytorch_tanh",
          "rope_theta": 100000.0, "norm_epsilon": 1e-5, "norm_type": "layer_norm", "mlp_type": "default", "use_bias": True,
          "sliding_window": 5, "tie_word_embeddings": True, "embedding_dropout": 0.1, "residual_dropout": 0.1}
    shapes = {"model.embed_tokens.weight": (80, 32), "model.norm.weight": (32,)}
    for i in range(2):
        p = f"model.layers.{i}."
        shapes |= {p + "self_attn.q_proj.weight": (32, 32), p + "self_attn.k_proj.weight": (16, 32),
                   p + "self_attn.v_proj.weight": (16, 32), p + "self_attn.o_proj.weight": (32, 32),
                   p + "mlp.c_fc.weight": (44, 32), p + "mlp.c_proj.weight": (32, 44), p + "input_layernorm.weight": (32,),
                   p + "post_attention_layernorm.weight": (32,)}
    shapes = biased([n[:-7] for n in shapes if "embed" not in n], shapes)

    def logits(w, tokens):
        f = plain_frequencies(c["rope_theta"], 8)
        norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = norm(p + "input_layernorm", x)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", 4), ("k", 2), ("v", 2)))
            x = x + linear(w, p + "self_attn.o_proj", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5, 5)))
            n = norm(p + "post_attention_layernorm", x)
            x = x + linear(w, p + "mlp.c_proj", gelu_tanh(linear(w, p + "mlp.c_fc", n)))
        return norm("model.norm", x) @ w["model.embed_tokens.weight"].T

    return c, shapes, logits


def stablelm(**changes):
    c = {k: v for k, v in SMALL.items() if k != "rms_norm_eps"}
    c |= {"architectures": ["StableLmForCausalLM"], "model_type": "stablelm", "hidden_act": "silu", "rope_theta": 10000,
          "layer_norm_eps": 1e-5, "use_qkv_bias": True, "qk_layernorm": False, "use_parallel_residual": False,
          "partial_rotary_factor": 0.5, "tie_word_embeddings": False, "rope_scaling": None, **changes}
    parallel, norms = c["use_parallel_residual"], c["qk_layernorm"]
    shapes = llama_shapes(c, biases="qkv" if c["use_qkv_bias"] else "")
    shapes = {n: s for n, s in shapes.items() if not parallel or "post_attention" not in n}
    shapes |= {n[:-6] + "bias": s for n, s in shapes.items() if "norm" in n}
    if norms:
        for i in range(2):
            for part, heads in (("q", 4), ("k", 2)):
                shapes |= {f"model.layers.{i}.self_attn.{part}_layernorm.norms.{h}.weight": (8,) for h in range(heads)}

    def logits(w, tokens):
        f = plain_frequencies(10000, 4)
        norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = norm(p + "input_layernorm", x)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", 4), ("k", 2), ("v", 2)))
            if norms:
                q, k = (np.stack([layer_norm(y[:, h], w[p + f"self_attn.{b}_layernorm.norms.{h}.weight"], None, 1e-5)
                                  for h in range(y.shape[1])], 1) for b, y in (("q", q), ("k", k)))
            a = linear(w, p + "self_attn.o_proj", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5)))
            n = n if parallel else norm(p + "post_attention_layernorm", x + a)
            m = silu(linear(w, p + "mlp.gate_proj", n)) * linear(w, p + "mlp.up_proj", n)
            x = x + a + linear(w, p + "mlp.down_proj", m)
        return norm("model.norm", x) @ w["lm_head.weight"].T

    return c, shapes, logits


def make_stablelm():
    return stablelm()


def make_stablelm_2():
    return stablelm(use_qkv_bias=False, qk_layernorm=True, use_parallel_residual=True)


def make_phi():
    c = {k: v for k, v in SMALL.items() if k != "rms_norm_eps"}
    c |= {"architectures": ["PhiForCausalLM"], "model_type": "phi", "hidden_act": "gelu_new", "rope_theta": 10000.0,
          "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "qk_layernorm": False, "tie_word_embeddings": False,
          "embd_pdrop": 0.0, "resid_pdrop": 0.1, "num_key_value_heads": 4, "rope_scaling": None}
    shapes = {"model.embed_tokens.weight": (80, 32), "model.final_layernorm.weight": (32,), "lm_head.weight": (80, 32)}
    for i in range(2):
        p = f"model.layers.{i}."
        shapes |= {p + "self_attn.q_proj.weight": (32, 32), p + "self_attn.k_proj.weight": (32, 32),
                   p + "self_attn.v_proj.weight": (32, 32), p + "self_attn.dense.weight": (32, 32),
                   p + "mlp.fc1.weight": (44, 32), p + "mlp.fc2.weight": (32, 44), p + "input_layernorm.weight": (32,)}
    shapes = biased([n[:-7] for n in shapes if "embed" not in n], shapes)

    def logits(w, tokens):
        f = plain_frequencies(10000, 4)
        norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = norm(p + "input_layernorm", x)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), 4) for b in "qkv")
            o = linear(w, p + "self_attn.dense", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5)))
            x = x + o + linear(w, p + "mlp.fc2", gelu_tanh(linear(w, p + "mlp.fc1", n)))
        return linear(w, "lm_head", norm("model.final_layernorm", x))

    return c, shapes, logits


def phi3(scaling, frequencies, magnitude, **changes):
    c = {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "hidden_act": "silu", "rope_theta": 10000.0,
         "tie_word_embeddings": False, "sliding_window": 6, "rope_scaling": scaling, "original_max_position_embeddings": 64,
         "partial_rotary_factor": 0.5, "attention_bias": False, "embd_pdrop": 0.0, "resid_pdrop": 0.0, **SMALL, **changes}
    shapes = {n: s for n, s in llama_shapes(c).items() if not any(p in n for p in ("q_p", "k_p", "v_p", "gate_p", "up_p"))}
    for i in range(2):
        shapes[f"model.layers.{i}.self_attn.qkv_proj.weight"] = (64, 32)
        shapes[f"model.layers.{i}.mlp.gate_up_proj.weight"] = (88, 32)

    def logits(w, tokens):
        f, m = frequencies, magnitude
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = rms(x, w[p + "input_layernorm.weight"], 1e-5)
            q, k, v = np.split(n @ w[p + "self_attn.qkv_proj.weight"].T, [32, 48], -1)
            o = attend(turned(heads_of(q, 4), f, m), turned(heads_of(k, 2), f, m), heads_of(v, 2), 8**-0.5, 6)
            x = x + linear(w, p + "self_attn.o_proj", joined(o))
            n = rms(x, w[p + "post_attention_layernorm.weight"], 1e-5)
            gate, up = np.split(n @ w[p + "mlp.gate_up_proj.weight"].T, 2, -1)
            x = x + linear(w, p + "mlp.down_proj", silu(gate) * up)
        return rms(x, w["model.norm.weight"], 1e-5) @ w["lm_head.weight"].T

    return c, shapes, logits


def make_phi3():
    return phi3(None, plain_frequencies(10000, 4), 1.0)


def longrope(original):
    """LongRoPE (Ding et al. 2024) for texts of 12 tokens, as the published code has it: the long list beyond the
    `original` length, and cosines and sines times a factor that grows with 64 / original."""
    scaling = {"type": "longrope", "short_factor": [1.05, 1.3], "long_factor": [1.5, 7.25]}
    chosen = scaling["long_factor" if LENGTH > original else "short_factor"]
    frequencies = [f / by for f, by in zip(plain_frequencies(10000, 4), chosen)]
    magnitude = math.sqrt(1 + math.log(64 / original) / math.log(original))
    return phi3(scaling, frequencies, magnitude, original_max_position_embeddings=original)


def make_phi3_long():
    return longrope(8)


def make_phi3_short():
    return longrope(32)


def make_llama_dynamic():
    """The base grows with the length of the text beyond the 8 positions."""
    c = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rope_theta": 10000.0,
         "tie_word_embeddings": False, "rope_scaling": {"type": "dynamic", "factor": 4.0}, **SMALL,
         "max_position_embeddings": 8}
    base = 10000 * (4 * LENGTH / 8 - 3)**(8 / 6)
    return c, llama_shapes(c), lambda w, t: llama(c, w, t, plain_frequencies(base, 8))


def fused_shapes(prefix, layers, d, f, rows, attention, norms):
    """Layers whose queries, keys and values are one tensor, with biases."""
    shapes = {}
    for i in range(layers):
        p = prefix + f".{i}."
        shapes |= {p + attention + ".query_key_value.weight": (rows, d), p + attention + ".dense.weight": (d, d),
                   p + "mlp.dense_h_to_4h.weight": (f, d), p + "mlp.dense_4h_to_h.weight": (d, f)}
        shapes |= {p + norm + ".weight": (d,) for norm in norms}
    return shapes


def per_head(x, heads, group):
    """Queries, keys and values that lie side by side for each head of keys: [rows, length, heads * (group + 2) * size]."""
    r, n, _ = x.shape
    x = x.reshape(r, n, heads, group + 2, -1)
    q = x[:, :, :, :group].reshape(r, n, heads * group, -1)
    return [y.transpose(0, 2, 1, 3) for y in (q, x[:, :, :, group], x[:, :, :, group + 1])]


def norm_of(w, name, x):
    return layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)


def make_gpt_neox():
    c = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_act": "gelu", "hidden_size": 32,
         "intermediate_size": 44, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 80, "rotary_pct": 0.5,
         "rotary_emb_base": 10000, "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "use_parallel_residual": True,
         "tie_word_embeddings": False, "attention_bias": True, "torch_dtype": "float16", "bos_token_id": 0}
    shapes = {"gpt_neox.final_layer_norm.weight": (32,)}
    shapes |= fused_shapes("gpt_neox.layers", 2, 32, 44, 96, "attention", ("input_layernorm", "post_attention_layernorm"))
    shapes = biased([n[:-7] for n in shapes], shapes) | {"gpt_neox.embed_in.weight": (80, 32), "embed_out.weight": (80, 32)}

    def logits(w, tokens):
        f = plain_frequencies(10000, 4)
        x = w["gpt_neox.embed_in.weight"][tokens]
        for i in range(2):
            p = f"gpt_neox.layers.{i}."
            q, k, v = per_head(linear(w, p + "attention.query_key_value", norm_of(w, p + "input_layernorm", x)), 4, 1)
            o = linear(w, p + "attention.dense", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5)))
            m = gelu(linear(w, p + "mlp.dense_h_to_4h", norm_of(w, p + "post_attention_layernorm", x)))
            x = x + o + linear(w, p + "mlp.dense_4h_to_h", m)
        return norm_of(w, "gpt_neox.final_layer_norm", x) @ w["embed_out.weight"].T

    return c, shapes, logits


def alibi_slopes(heads):
    whole = 2**math.floor(math.log2(heads))
    slopes = [2**(-8 * (h + 1) / whole) for h in range(whole)]
    return slopes + [2**(-4 * (2 * h + 1) / whole) for h in range(heads - whole)]


def make_bloom():
    c = {"architectures": ["BloomForCausalLM"], "model_type": "bloom", "vocab_size": 80, "hidden_size": 48, "n_layer": 2,
         "n_head": 6, "layer_norm_epsilon": 1e-5, "apply_residual_connection_post_layernorm": False,
         "hidden_dropout": 0.0, "seq_length": 2048, "attention_softmax_in_fp32": True, "pretraining_tp": 2}
    shapes = {"word_embeddings_layernorm.weight": (48,), "ln_f.weight": (48,)}
    shapes |= fused_shapes("h", 2, 48, 192, 144, "self_attention", ("input_layernorm", "post_attention_layernorm"))
    shapes = biased([n[:-7] for n in shapes], shapes) | {"word_embeddings.weight": (80, 48)}

    def logits(w, tokens):
        x = norm_of(w, "word_embeddings_layernorm", w["word_embeddings.weight"][tokens])
        for i in range(2):
            p = f"h.{i}."
            q, k, v = per_head(linear(w, p + "self_attention.query_key_value", norm_of(w, p + "input_layernorm", x)), 6, 1)
            x = x + linear(w, p + "self_attention.dense", joined(attend(q, k, v, 8**-0.5, slopes=alibi_slopes(6))))
            m = gelu_tanh(linear(w, p + "mlp.dense_h_to_4h", norm_of(w, p + "post_attention_layernorm", x)))
            x = x + linear(w, p + "mlp.dense_4h_to_h", m)
        return norm_of(w, "ln_f", x) @ w["word_embeddings.weight"].T

    return c, shapes, logits


def falcon(norms, heads, group):
    """The first norm is for attention, the last for the feed-forward part."""

    def logits(w, tokens):
        f = plain_frequencies(10000, 8)
        x = w["transformer.word_embeddings.weight"][tokens]
        for i in range(2):
            p = f"transformer.h.{i}."
            q, k, v = per_head(linear(w, p + "self_attention.query_key_value", norm_of(w, p + norms[0], x)), heads, group)
            o = linear(w, p + "self_attention.dense", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5)))
            m = gelu(linear(w, p + "mlp.dense_h_to_4h", norm_of(w, p + norms[-1], x)))
            x = x + o + linear(w, p + "mlp.dense_4h_to_h", m)
        return norm_of(w, "transformer.ln_f", x) @ w["transformer.word_embeddings.weight"].T

    shapes = {"transformer.ln_f.weight": (32,)}
    shapes |= fused_shapes("transformer.h", 2, 32, 128, heads * (group + 2) * 8, "self_attention", norms)
    shapes = biased([n[:-7] for n in shapes if "l" in n and ("layernorm" in n or "ln_" in n)], shapes)
    return shapes | {"transformer.word_embeddings.weight": (80, 32)}, logits


FALCON = {"architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 4, "vocab_size": 80, "layer_norm_epsilon": 1e-5, "parallel_attn": True, "bias": False,
          "alibi": False, "attention_dropout": 0.0, "rope_theta": 10000.0}


def make_falcon():
    c = {**FALCON, "multi_query": True, "new_decoder_architecture": False, "num_kv_heads": 71}
    return c, *falcon(("input_layernorm",), 1, 4)


def make_falcon_rw():
    """Falcon with ALiBi, whose bias is scaled as the scores are; 6 heads of queries share one of keys and values."""
    c = {**FALCON, "hidden_size": 48, "num_attention_heads": 6, "multi_query": True, "new_decoder_architecture": False,
         "parallel_attn": False, "alibi": True, "bias": True}
    shapes = {"transformer.ln_f.weight": (48,)}
    shapes |= fused_shapes("transformer.h", 2, 48, 192, 64, "self_attention", ("input_layernorm", "post_attention_layernorm"))
    shapes = biased([n[:-7] for n in shapes], shapes) | {"transformer.word_embeddings.weight": (80, 48)}
    slopes = [s * 8**-0.5 for s in alibi_slopes(6)]

    def logits(w, tokens):
        x = w["transformer.word_embeddings.weight"][tokens]
        for i in range(2):
            p = f"transformer.h.{i}."
            q, k, v = per_head(linear(w, p + "self_attention.query_key_value", norm_of(w, p + "input_layernorm", x)), 1, 6)
            x = x + linear(w, p + "self_attention.dense", joined(attend(q, k, v, 8**-0.5, slopes=slopes)))
            m = gelu(linear(w, p + "mlp.dense_h_to_4h", norm_of(w, p + "post_attention_layernorm", x)))
            x = x + linear(w, p + "mlp.dense_4h_to_h", m)
        return norm_of(w, "transformer.ln_f", x) @ w["transformer.word_embeddings.weight"].T

    return c, shapes, logits


def make_falcon_40b():
    c = {**FALCON, "multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}
    return c, *falcon(("ln_attn", "ln_mlp"), 2, 2)


def opt(**changes):
    c = {"architectures": ["OPTForCausalLM"], "model_type": "opt", "hidden_size": 32, "ffn_dim": 44, "num_hidden_layers": 2,
         "num_attention_heads": 4, "vocab_size": 80, "max_position_embeddings": 64, "activation_function": "relu",
         "do_layer_norm_before": True, "word_embed_proj_dim": 32, "dropout": 0.1, "layerdrop": 0.0, "init_std": 0.02,
         "_remove_final_layer_norm": False, "prefix": "</s>", **changes}
    before, small = c["do_layer_norm_before"], c["word_embed_proj_dim"]
    shapes = {"model.decoder.final_layer_norm.weight": (32,)} if before else {}
    for i in range(2):
        p = f"model.decoder.layers.{i}."
        shapes |= {p + f"self_attn.{b}_proj.weight": (32, 32) for b in ("q", "k", "v", "out")}
        shapes |= {p + "fc1.weight": (44, 32), p + "fc2.weight": (32, 44), p + "self_attn_layer_norm.weight": (32,),
                   p + "final_layer_norm.weight": (32,)}
    shapes = biased([n[:-7] for n in shapes], shapes)
    shapes |= {"model.decoder.embed_tokens.weight": (80, small), "model.decoder.embed_positions.weight": (66, 32)}
    if small != 32:
        shapes |= {"model.decoder.project_in.weight": (32, small), "model.decoder.project_out.weight": (small, 32)}

    def logits(w, tokens):
        places = w["model.decoder.embed_positions.weight"][2 + np.arange(tokens.shape[1])]
        x = w["model.decoder.embed_tokens.weight"][tokens]
        x = (x if small == 32 else linear(w, "model.decoder.project_in", x)) + places
        first = lambda name, x: norm_of(w, name, x) if before else x
        last = lambda name, x: x if before else norm_of(w, name, x)
        for i in range(2):
            p = f"model.decoder.layers.{i}."
            n = first(p + "self_attn_layer_norm", x)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), 4) for b in "qkv")
            x = last(p + "self_attn_layer_norm", x + linear(w, p + "self_attn.out_proj", joined(attend(q, k, v, 8**-0.5))))
            m = np.maximum(linear(w, p + "fc1", first(p + "final_layer_norm", x)), 0)
            x = last(p + "final_layer_norm", x + linear(w, p + "fc2", m))
        x = norm_of(w, "model.decoder.final_layer_norm", x) if before else x
        x = x if small == 32 else linear(w, "model.decoder.project_out", x)
        return x @ w["model.decoder.embed_tokens.weight"].T

    return c, shapes, logits


def make_opt():
    return opt()


def make_opt_350m():
    return opt(do_layer_norm_before=False, word_embed_proj_dim=20)


def routed(w, prefix, names, n, choice, scores, ranked, renormalizes, factor=1.0):
    """The sum of the experts that each token ranks highest, times their scores."""
    chosen = np.argsort(-ranked, -1, kind="stable")[..., :choice]
    weights = np.take_along_axis(scores, chosen, -1)
    if renormalizes:
        weights = weights / weights.sum(-1, keepdims=True)
    y = np.zeros_like(n)
    for row in np.ndindex(n.shape[:2]):
        for expert, weight in zip(chosen[row], weights[row] * factor):
            gate, down, up = (w[f"{prefix}experts.{expert}.{name}.weight"] for name in names)
            y[row] += weight * (silu(n[row] @ gate.T) * (n[row] @ up.T)) @ down.T
    return y


def expert_shapes(prefix, names, experts, d, f):
    shapes = {prefix + "gate.weight": (experts, d)}
    for e in range(experts):
        for name, shape in zip(names, ((f, d), (d, f), (f, d))):
            shapes[f"{prefix}experts.{e}.{name}.weight"] = shape
    return shapes


def make_mixtral():
    c = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_act": "silu", "rope_theta": 1000000.0,
         "tie_word_embeddings": False, "sliding_window": None, "num_local_experts": 4, "num_experts_per_tok": 2,
         "output_router_logits": False, "router_aux_loss_coef": 0.02, **SMALL}
    names = ("w1", "w2", "w3")
    shapes = {n: s for n, s in llama_shapes(c).items() if ".mlp." not in n}
    for i in range(2):
        shapes |= expert_shapes(f"model.layers.{i}.block_sparse_moe.", names, 4, 32, 44)

    def logits(w, tokens):
        f = plain_frequencies(1000000, 8)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = rms(x, w[p + "input_layernorm.weight"], 1e-5)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", 4), ("k", 2), ("v", 2)))
            x = x + linear(w, p + "self_attn.o_proj", joined(attend(turned(q, f), turned(k, f), v, 8**-0.5)))
            n = rms(x, w[p + "post_attention_layernorm.weight"], 1e-5)
            scores = softmax(n @ w[p + "block_sparse_moe.gate.weight"].T)
            x = x + routed(w, p + "block_sparse_moe.", names, n, 2, scores, scores, True)
        return rms(x, w["model.norm.weight"], 1e-5) @ w["lm_head.weight"].T

    return c, shapes, logits


def make_qwen3_moe():
    c = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "rope_theta": 1000000.0,
         "tie_word_embeddings": False, "attention_bias": False, "head_dim": 12, "sliding_window": None,
         "use_sliding_window": False, "max_window_layers": 2, "num_experts": 6, "num_experts_per_tok": 3,
         "moe_intermediate_size": 20, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
         "rope_scaling": None, "router_aux_loss_coef": 0.001, **SMALL}
    names = ("gate_proj", "down_proj", "up_proj")
    shapes = {n: s for n, s in llama_shapes(c, qk="head").items() if ".mlp." not in n}
    for i in range(2):
        shapes |= expert_shapes(f"model.layers.{i}.mlp.", names, 6, 32, 20)

    def logits(w, tokens):
        f, eps = plain_frequencies(1000000, 12), 1e-5
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = rms(x, w[p + "input_layernorm.weight"], eps)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", 4), ("k", 2), ("v", 2)))
            q, k = rms(q, w[p + "self_attn.q_norm.weight"], eps), rms(k, w[p + "self_attn.k_norm.weight"], eps)
            x = x + linear(w, p + "self_attn.o_proj", joined(attend(turned(q, f), turned(k, f), v, 12**-0.5)))
            n = rms(x, w[p + "post_attention_layernorm.weight"], eps)
            scores = softmax(n @ w[p + "mlp.gate.weight"].T)
            x = x + routed(w, p + "mlp.", names, n, 3, scores, scores, True)
        return rms(x, w["model.norm.weight"], eps) @ w["lm_head.weight"].T

    return c, shapes, logits


def make_gpt_oss():
    scaling = {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0, "original_max_position_embeddings": 200,
               "rope_type": "yarn", "truncate": False}
    c = {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_act": "silu", "rope_theta": 500,
         "rope_scaling": scaling, "attention_bias": True, "head_dim": 12, "sliding_window": 4,
         "layer_types": ["sliding_attention", "full_attention"], "num_local_experts": 6, "num_experts_per_tok": 2,
         "experts_per_token": 2, "swiglu_limit": 0.7, "router_aux_loss_coef": 0.9, "output_router_logits": False,
         "initial_context_length": 200, "tie_word_embeddings": False, **SMALL}
    shapes = {n: s for n, s in llama_shapes(c, biases="qkvo").items() if ".mlp." not in n}
    for i in range(2):
        p = f"model.layers.{i}."
        shapes |= {p + "self_attn.sinks": (4,), p + "mlp.router.weight": (6, 32), p + "mlp.router.bias": (6,),
                   p + "mlp.experts.gate_up_proj": (6, 32, 88), p + "mlp.experts.gate_up_proj_bias": (6, 88),
                   p + "mlp.experts.down_proj": (6, 44, 32), p + "mlp.experts.down_proj_bias": (6, 32)}

    def experts(w, p, n):
        scores = linear(w, p + "router", n)
        chosen = np.argsort(-scores, -1, kind="stable")[..., :2]
        weights = softmax(np.take_along_axis(scores, chosen, -1))
        y = np.zeros_like(n)
        for row in np.ndindex(n.shape[:2]):
            for e, weight in zip(chosen[row], weights[row]):
                both = n[row] @ w[p + "experts.gate_up_proj"][e] + w[p + "experts.gate_up_proj_bias"][e]
                gate, up = np.minimum(both[0::2], 0.7), np.clip(both[1::2], -0.7, 0.7)
                h = (up + 1) * gate / (1 + np.exp(-1.702 * gate))
                y[row] += weight * (h @ w[p + "experts.down_proj"][e] + w[p + "experts.down_proj_bias"][e])
        return y

    def logits(w, tokens):
        f, magnitude = yarn_frequencies(scaling, 500, 12)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            n = rms(x, w[p + "input_layernorm.weight"], 1e-5)
            q, k, v = (heads_of(linear(w, p + f"self_attn.{b}_proj", n), m) for b, m in (("q", 4), ("k", 2), ("v", 2)))
            o = attend(turned(q, f, magnitude), turned(k, f, magnitude), v, 12**-0.5, None if i % 2 else 4,
                       sinks=w[p + "self_attn.sinks"])
            x = x + linear(w, p + "self_attn.o_proj", joined(o))
            x = x + experts(w, p + "mlp.", rms(x, w[p + "post_attention_layernorm.weight"], 1e-5))
        return rms(x, w["model.norm.weight"], 1e-5) @ w["lm_head.weight"].T

    return c, shapes, logits


def neighbours_turned(x, frequencies, scale=1.0):
    """Rotary positions on pairs of neighbours."""
    angles = np.arange(x.shape[2])[:, None] * np.asarray(frequencies)[None]
    turn = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles) * scale
    return np.stack([turn.real, turn.imag], -1).reshape(x.shape)


def deepseek(c, scores_of, ranked_of):
    """Latent attention, and experts from the second layer on."""
    d, h, nope, rope, value = 32, 4, c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    rank, q_rank, experts, f = c["kv_lora_rank"], c["q_lora_rank"], c["n_routed_experts"], c["moe_intermediate_size"]
    names = ("gate_proj", "down_proj", "up_proj")
    shapes = {"model.embed_tokens.weight": (80, d), "model.norm.weight": (d,), "lm_head.weight": (80, d)}
    for i in range(2):
        p = f"model.layers.{i}."
        a = p + "self_attn."
        shapes |= {a + "kv_a_proj_with_mqa.weight": (rank + rope, d), a + "kv_a_layernorm.weight": (rank,),
                   a + "kv_b_proj.weight": (h * (nope + value), rank), a + "o_proj.weight": (d, h * value),
                   p + "input_layernorm.weight": (d,), p + "post_attention_layernorm.weight": (d,)}
        if q_rank:
            shapes |= {a + "q_a_proj.weight": (q_rank, d), a + "q_a_layernorm.weight": (q_rank,),
                       a + "q_b_proj.weight": (h * (nope + rope), q_rank)}
        else:
            shapes[a + "q_proj.weight"] = (h * (nope + rope), d)
        if i < c["first_k_dense_replace"]:
            shapes |= {p + f"mlp.{n}.weight": s for n, s in zip(names, ((44, d), (d, 44), (44, d)))}
            continue
        shapes |= expert_shapes(p + "mlp.", names, experts, d, f)
        if c["topk_method"] == "noaux_tc":
            shapes[p + "mlp.gate.e_score_correction_bias"] = (experts,)
        common = f * c["n_shared_experts"]
        shapes |= {p + f"mlp.shared_experts.{n}.weight": s for n, s in zip(names, ((common, d), (d, common), (common, d)))}
    frequencies, magnitude, scale = plain_frequencies(10000, rope), 1.0, (nope + rope)**-0.5
    if c["rope_scaling"]:
        frequencies, _ = yarn_frequencies(c["rope_scaling"], 10000, rope)
        grown = lambda by: 0.1 * by * math.log(c["rope_scaling"]["factor"]) + 1
        magnitude = grown(c["rope_scaling"]["mscale"]) / grown(c["rope_scaling"]["mscale_all_dim"])
        scale *= grown(c["rope_scaling"]["mscale_all_dim"])**2

    def mlp(w, p, n):
        return linear(w, p + "down_proj", silu(linear(w, p + "gate_proj", n)) * linear(w, p + "up_proj", n))

    def logits(w, tokens):
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(2):
            p = f"model.layers.{i}."
            a = p + "self_attn."
            n = rms(x, w[p + "input_layernorm.weight"], 1e-6)
            q = linear(w, a + "q_b_proj", rms(linear(w, a + "q_a_proj", n), w[a + "q_a_layernorm.weight"], 1e-6)) \
                if q_rank else linear(w, a + "q_proj", n)
            q = heads_of(q, h)
            small, shared_k = np.split(linear(w, a + "kv_a_proj_with_mqa", n), [rank], -1)
            kv = heads_of(linear(w, a + "kv_b_proj", rms(small, w[a + "kv_a_layernorm.weight"], 1e-6)), h)
            shared_k = neighbours_turned(shared_k[:, None], frequencies, magnitude)
            q = np.concatenate([q[..., :nope], neighbours_turned(q[..., nope:], frequencies, magnitude)], -1)
            k = np.concatenate([kv[..., :nope], np.repeat(shared_k, h, 1)], -1)
            x = x + linear(w, a + "o_proj", joined(attend(q, k, kv[..., nope:], scale)))
            n = rms(x, w[p + "post_attention_layernorm.weight"], 1e-6)
            if i < c["first_k_dense_replace"]:
                x = x + mlp(w, p + "mlp.", n)
                continue
            scores = scores_of(n @ w[p + "mlp.gate.weight"].T)
            ranked = ranked_of(scores, w.get(p + "mlp.gate.e_score_correction_bias", 0))
            y = routed(w, p + "mlp.", names, n, c["num_experts_per_tok"], scores, ranked, c["norm_topk_prob"],
                       c["routed_scaling_factor"])
            x = x + y + mlp(w, p + "mlp.shared_experts.", n)
        return rms(x, w["model.norm.weight"], 1e-6) @ w["lm_head.weight"].T

    return c, shapes, logits


def in_groups(ranked, groups, kept, best):
    """Zeros outside of the groups whose best elements add up to most."""
    grouped = ranked.reshape(*ranked.shape[:-1], groups, -1)
    worth = -np.sort(-grouped, -1)[..., :best].sum(-1)
    order = np.argsort(-worth, -1, kind="stable")[..., :kept]
    mask = np.zeros(worth.shape, bool)
    np.put_along_axis(mask, order, True, -1)
    return np.where(mask[..., None], grouped, 0).reshape(ranked.shape)


DEEPSEEK = {"hidden_act": "silu", "rope_theta": 10000, "tie_word_embeddings": False, "attention_bias": False, "hidden_size": 32,
            "intermediate_size": 44, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
            "vocab_size": 80, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "kv_lora_rank": 12, "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 4, "v_head_dim": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1,
            "moe_intermediate_size": 20, "ep_size": 1}


def make_deepseek_v2():
    c = {"architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", **DEEPSEEK, "q_lora_rank": None,
         "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 2, "scoring_func": "softmax",
         "topk_method": "greedy", "n_group": 1, "topk_group": 1, "norm_topk_prob": False, "routed_scaling_factor": 1.0,
         "aux_loss_alpha": 0.001, "seq_aux": True,
         "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
                          "original_max_position_embeddings": 40, "type": "yarn"}}
    return deepseek(c, softmax, lambda scores, bias: scores)


def make_deepseek_v3():
    c = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", **DEEPSEEK, "q_lora_rank": 16,
         "n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 1, "scoring_func": "sigmoid",
         "topk_method": "noaux_tc", "n_group": 4, "topk_group": 2, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
         "num_nextn_predict_layers": 1,
         "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 4, "mscale": 1.0, "mscale_all_dim": 1.0,
                          "original_max_position_embeddings": 16, "type": "yarn"}}
    return deepseek(c, lambda x: 1 / (1 + np.exp(-x)), lambda scores, bias: in_groups(scores + bias, 4, 2, 2))


def buckets_of(behind, causal, buckets, farthest):
    """The bucket of each distance (Raffel et al. 2020): one for each small distance, wider ones up to the farthest."""
    if not causal:
        buckets //= 2
    near = buckets // 2
    result = np.zeros(behind.shape, int)
    for at in np.ndindex(behind.shape):
        distance = max(behind[at], 0) if causal else abs(behind[at])
        if distance >= near:
            grown = math.log(distance / near) / math.log(farthest / near) * (buckets - near)
            distance = min(near + math.floor(grown + 1e-9), buckets - 1)
        result[at] = distance + (buckets if not causal and behind[at] < 0 else 0)
    return result


SOURCES = np.array([[7, 33, 5, 61, 12, 70, 9, 1, 0, 0, 0, 0], [44, 2, 18, 18, 66, 30, 71, 25, 52, 3, 13, 1]])


def t5(**changes):
    c = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": 80, "d_model": 32, "d_kv": 6,
         "d_ff": 44, "num_layers": 2, "num_heads": 4, "relative_attention_num_buckets": 8,
         "relative_attention_max_distance": 10, "dropout_rate": 0.1, "layer_norm_epsilon": 1e-6, "initializer_factor": 1.0,
         "feed_forward_proj": "relu", "is_encoder_decoder": True, "use_cache": True, "pad_token_id": 0, "eos_token_id": 1,
         "decoder_start_token_id": 0, "n_positions": 512, **changes}
    gated, tied = c["feed_forward_proj"] == "gated-gelu", c.get("tie_word_embeddings", True)
    counts = {"encoder": c["num_layers"], "decoder": c.get("num_decoder_layers", c["num_layers"])}
    shapes = {"shared.weight": (80, 32)} | ({} if tied else {"lm_head.weight": (80, 32)})
    for stack, layers in counts.items():
        shapes |= {f"{stack}.final_layer_norm.weight": (32,),
                   f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (8, 4)}
        for i in range(layers):
            p = f"{stack}.block.{i}.layer."
            parts = ["0.SelfAttention", "1.EncDecAttention"][:1 if stack == "encoder" else 2]
            for part in parts:
                shapes |= {p + f"{part}.{b}.weight": (24, 32) for b in "qkv"} | {p + part + ".o.weight": (32, 24)}
            shapes |= {p + f"{j}.layer_norm.weight": (32,) for j in range(len(parts) + 1)}
            wide = p + f"{len(parts)}.DenseReluDense."
            shapes |= {wide + n + ".weight": (44, 32) for n in (("wi_0", "wi_1") if gated else ("wi",))}
            shapes[wide + "wo.weight"] = (32, 44)

    def attention(w, p, x, m, bias):
        q, k, v = heads_of(linear(w, p + ".q", x), 4), heads_of(linear(w, p + ".k", m), 4), heads_of(linear(w, p + ".v", m), 4)
        return linear(w, p + ".o", joined(softmax(q @ k.transpose(0, 1, 3, 2) + bias) @ v))

    def stack_of(w, stack, x, hidden, memory=None, memory_hidden=None):
        norm = lambda name, x: rms(x, w[name + ".weight"], 1e-6)
        n = x.shape[1]
        behind = np.arange(n)[:, None] - np.arange(n)[None]
        table = w[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        bias = table[buckets_of(behind, stack == "decoder", 8, 10)].transpose(2, 0, 1)[None]
        for i in range(counts[stack]):
            p = f"{stack}.block.{i}.layer."
            y = norm(p + "0.layer_norm", x)
            x = x + attention(w, p + "0.SelfAttention", y, y, np.where(hidden, -np.inf, bias))
            if memory is not None:
                y = norm(p + "1.layer_norm", x)
                x = x + attention(w, p + "1.EncDecAttention", y, memory, np.where(memory_hidden, -np.inf, 0))
            part = p + ("1" if memory is None else "2")
            y, wide = norm(part + ".layer_norm", x), part + ".DenseReluDense."
            if gated:
                h = gelu_tanh(linear(w, wide + "wi_0", y)) * linear(w, wide + "wi_1", y)
            else:
                h = np.maximum(linear(w, wide + "wi", y), 0)
            x = x + linear(w, wide + "wo", h)
        return norm(stack + ".final_layer_norm", x)

    def logits(w, tokens):
        padding = (SOURCES == 0)[:, None, None]
        memory = stack_of(w, "encoder", w["shared.weight"][SOURCES], padding)
        n = tokens.shape[1]
        later = (np.arange(n)[:, None] < np.arange(n)[None])[None, None]
        y = stack_of(w, "decoder", w["shared.weight"][tokens], later, memory, padding)
        return y * 32**-0.5 @ w["shared.weight"].T if tied else y @ w["lm_head.weight"].T

    return c, shapes, logits, {"sources": SOURCES}


def make_t5():
    return t5()


def make_t5_v1_1():
    return t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=3)


def encoder_shapes(prefix, c, self_attention):
    """The layers of BERT and ViT, but for their norms."""
    d, f, shapes = c["hidden_size"], c["intermediate_size"], {}
    for i in range(c["num_hidden_layers"]):
        p = f"{prefix}.encoder.layer.{i}."
        shapes |= {p + f"attention.{self_attention}.{b}.weight": (d, d) for b in ("query", "key", "value")}
        shapes |= {p + "attention.output.dense.weight": (d, d), p + "intermediate.dense.weight": (f, d),
                   p + "output.dense.weight": (d, f)}
    return shapes


def attend_to_all(w, p, self_attention, x, heads, hidden):
    q, k, v = (heads_of(linear(w, p + f"attention.{self_attention}.{b}", x), heads) for b in ("query", "key", "value"))
    scores = np.where(hidden, -np.inf, q @ k.transpose(0, 1, 3, 2) * q.shape[-1]**-0.5)
    return linear(w, p + "attention.output.dense", joined(softmax(scores) @ v))


def make_bert():
    c = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
         "hidden_dropout_prob": 0.1, "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 44,
         "layer_norm_eps": 1e-12, "max_position_embeddings": 16, "num_attention_heads": 4, "num_hidden_layers": 2,
         "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": True, "vocab_size": 80}
    e = "bert.embeddings."
    shapes = encoder_shapes("bert", c, "self")
    for i in range(2):
        p = f"bert.encoder.layer.{i}."
        shapes |= {p + "attention.output.LayerNorm.weight": (32,), p + "output.LayerNorm.weight": (32,)}
    shapes |= {e + "LayerNorm.weight": (32,), "cls.predictions.transform.dense.weight": (32, 32),
               "cls.predictions.transform.LayerNorm.weight": (32,), "bert.pooler.dense.weight": (32, 32),
               "cls.seq_relationship.weight": (2, 32)}
    shapes = biased([n[:-7] for n in shapes], shapes)
    shapes |= {e + "word_embeddings.weight": (80, 32), e + "position_embeddings.weight": (16, 32),
               e + "token_type_embeddings.weight": (2, 32), "cls.predictions.bias": (80,)}
    tokens = np.array([[3, 70, 12, 5, 41, 9, 66, 2, 0, 0, 0, 0], [77, 8, 30, 4, 15, 1, 50, 6, 22, 71, 13, 2]])
    types = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]])
    targets = np.where(np.arange(LENGTH) % 3 == 1, tokens[:, ::-1], -1)

    def logits(w, inputs):
        norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-12)
        x = w[e + "word_embeddings.weight"][tokens] + w[e + "token_type_embeddings.weight"][types]
        x = norm(e + "LayerNorm", x + w[e + "position_embeddings.weight"][:LENGTH])
        for i in range(2):
            p = f"bert.encoder.layer.{i}."
            a = attend_to_all(w, p, "self", x, 4, (tokens == 0)[:, None, None])
            x = norm(p + "attention.output.LayerNorm", x + a)
            m = linear(w, p + "output.dense", gelu(linear(w, p + "intermediate.dense", x)))
            x = norm(p + "output.LayerNorm", x + m)
        x = norm("cls.predictions.transform.LayerNorm", gelu(linear(w, "cls.predictions.transform.dense", x)))
        return x @ w[e + "word_embeddings.weight"].T + w["cls.predictions.bias"]

    return c, shapes, logits, {"tokens": tokens, "token_types": types, "targets": targets}


def make_vit():
    c = {"architectures": ["ViTForImageClassification"], "model_type": "vit", "attention_probs_dropout_prob": 0.0,
         "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "hidden_size": 32, "id2label": {str(i): f"class {i}" for i in range(7)},
         "image_size": 12, "initializer_range": 0.02, "intermediate_size": 44, "layer_norm_eps": 1e-12, "num_attention_heads": 4,
         "num_channels": 3, "num_hidden_layers": 2, "patch_size": 4, "qkv_bias": True, "encoder_stride": 4}
    shapes = encoder_shapes("vit", c, "attention")
    for i in range(2):
        p = f"vit.encoder.layer.{i}."
        shapes |= {p + "layernorm_before.weight": (32,), p + "layernorm_after.weight": (32,)}
    shapes |= {"vit.layernorm.weight": (32,), "classifier.weight": (7, 32),
               "vit.embeddings.patch_embeddings.projection.weight": (32, 3, 4, 4)}
    shapes = biased([n[:-7] for n in shapes], shapes)
    shapes |= {"vit.embeddings.cls_token": (1, 1, 32), "vit.embeddings.position_embeddings": (1, 10, 32)}
    images = np.random.default_rng(5).normal(0, 1, (ROWS, 12, 12, 3))

    def logits(w, inputs):
        norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-12)
        e = "vit.embeddings."
        patches = np.zeros((ROWS, 9, 32))
        for row in range(3):
            for col in range(3):
                cut = images[:, 4 * row:4 * row + 4, 4 * col:4 * col + 4].transpose(0, 3, 1, 2).reshape(ROWS, -1)
                patches[:, 3 * row + col] = cut @ w[e + "patch_embeddings.projection.weight"].reshape(32, -1).T
        patches = patches + w[e + "patch_embeddings.projection.bias"]
        x = np.concatenate([np.repeat(w[e + "cls_token"], ROWS, 0), patches], 1) + w[e + "position_embeddings"]
        for i in range(2):
            p = f"vit.encoder.layer.{i}."
            x = x + attend_to_all(w, p, "attention", norm(p + "layernorm_before", x), 4, False)
            m = gelu(linear(w, p + "intermediate.dense", norm(p + "layernorm_after", x)))
            x = x + linear(w, p + "output.dense", m)
        return linear(w, "classifier", norm("vit.layernorm", x)[:, 0])

    return c, shapes, logits, {"images": images, "labels": np.array([3, 6])}


# Files.


def write_npy(path, array):
    np.save(path, array)


def write_safetensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))


def make(name):
    config, shapes, logits, *more = globals()["make_" + name]()
    inputs = more[0] if more else {}  # of models that take other ones than tokens, or more
    random = np.random.default_rng(sum(map(ord, name)))
    weights = {}
    for tensor, shape in sorted(shapes.items()):
        value = random.normal(0, 0.3 if len(shape) > 1 else 0.2, shape)
        if ("norm" in tensor.lower() or "ln_" in tensor) and tensor.endswith("weight") and not config["model_type"].startswith("gemma"):
            value += 1
        if config["model_type"] == "t5" and tensor.endswith(".q.weight"):  # scores are not scaled, so queries are small
            value /= config["d_kv"]
        weights[tensor] = value.astype(np.float32)
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    names = list(weights)
    parts = [names[: len(names) // 2], names[len(names) // 2:]]
    index = {}
    for i, part in enumerate(parts):
        file = f"model-{i + 1:05}-of-00002.safetensors"
        write_safetensors(folder / file, {n: weights[n] for n in part})
        index |= {n: file for n in part}
    total = {"total_size": sum(a.nbytes for a in weights.values())}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": total, "weight_map": index}, indent=1) + "\n")
    wide = {n: a.astype(np.float64) for n, a in weights.items()}
    for key, array in inputs.items():
        np.save(folder / f"{key}.npy", array.astype(np.float32 if array.dtype == float else np.int32))
    if config["model_type"] in ("bert", "vit"):  # these generate nothing
        np.save(folder / "logits.npy", logits(wide, inputs).astype(np.float32))
        return
    tokens = random.integers(0, config["vocab_size"], (ROWS, LENGTH))
    np.save(folder / "tokens.npy", tokens.astype(np.int32))
    np.save(folder / "logits.npy", logits(wide, tokens).astype(np.float32))
    text = tokens[:, :PROMPT]
    for _ in range(NEW):
        text = np.concatenate([text, logits(wide, text)[:, -1].argmax(-1)[:, None]], 1)
    np.save(folder / "greedy.npy", text.astype(np.int32))


if __name__ == "__main__":
    for family in sys.argv[1:] or [n[5:] for n in globals() if n.startswith("make_")]:
        make(family)
