"""The model, and what can be asked of it. Usable from a notebook, without the app.

    import model

    lm = model.open_model()
    run = model.trace(lm, "The capital of France is")
    run.attention(layer=12, head=4)

The words and shapes used throughout: *positions* are tokens in order; a *layer* (0-based) is one
block; a *query head* looks through one *KV head*; *head size* numbers make a query, key or value;
*hidden size* numbers make a vector of the *residual stream*. Queries are rows, keys are columns.
"""

from model import edits
from model.cost import kv_bytes
from model.errors import ExplainerError, ModelBusy, ModelUnavailable, ModelUnsupported, SettingRefused, TextRefused
from model.generation import Step, Stop, generate
from model.language_model import LanguageModel
from model.merges import merge_steps
from model.opening import from_parts, open_model
from model.published import architectures
from model.registry import DEFAULT_KEY, Listed, listed_models, missing
from model.sampling import Draw, Settings, Stages, draw, draw_at, nucleus_size, sampling_stages, uniforms
from model.tokens import Kind, Token, Tokens
from model.tracing import Trace, tokenize, trace

__all__ = [
    "DEFAULT_KEY",
    "Draw",
    "ExplainerError",
    "Kind",
    "LanguageModel",
    "Listed",
    "ModelBusy",
    "ModelUnavailable",
    "ModelUnsupported",
    "SettingRefused",
    "Settings",
    "Stages",
    "Step",
    "Stop",
    "TextRefused",
    "Token",
    "Tokens",
    "Trace",
    "architectures",
    "draw",
    "draw_at",
    "edits",
    "from_parts",
    "generate",
    "kv_bytes",
    "listed_models",
    "merge_steps",
    "missing",
    "nucleus_size",
    "open_model",
    "sampling_stages",
    "tokenize",
    "trace",
    "uniforms",
]
