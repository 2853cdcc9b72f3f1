"""What talker, code predictor and codec decoder have in common."""

from __future__ import annotations

from worker.engine.random_checkpoint.shapes import StackShape
from worker.engine.random_checkpoint.weights import Weights


def attention_layers(w: Weights, prefix: str, stack: StackShape) -> None:
    """The names that talker, predictor and codec decoder share."""
    queries, keys = stack.heads * stack.head_dim, stack.kv_heads * stack.head_dim
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.linear(f"{layer}.self_attn.q_proj", queries, stack.hidden)
        w.linear(f"{layer}.self_attn.k_proj", keys, stack.hidden)
        w.linear(f"{layer}.self_attn.v_proj", keys, stack.hidden)
        w.linear(f"{layer}.self_attn.o_proj", stack.hidden, queries)
        w.linear(f"{layer}.mlp.gate_proj", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.up_proj", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.down_proj", stack.hidden, stack.inter)
        w.norm(f"{layer}.input_layernorm", stack.hidden)
        w.norm(f"{layer}.post_attention_layernorm", stack.hidden)
