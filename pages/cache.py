"""What does the model keep, and what does it cost? The KV cache: its rows, its bytes, and what helps."""

import streamlit as st

from model.fewer_bits import why_not_in_fewer_bits
from pages.shared import anatomy, fewer_bits_parts, fit_parts, frame, measuring, prose
from pages.shared import cache_parts as parts
from pages.shared import calculator_parts as calculator
from pages.shared.decode_parts import step_slider
from pages.shared.state import write_address

lesson = frame.open_page("cache")
view, shape = lesson.view, lesson.lm.architecture
view.kv_head = min(view.kv_head, shape.kv_heads - 1)
for note in calculator.names_checked(view):
    prose.aside("Note: {note}", note=prose.literal(note))

prose.say(
    "Every token leaves a <b class='k'>key</b> and a <b class='v'>value</b> in each layer, and later tokens read "
    "them. No later token can change them, so the model keeps them: the <b class='c'>KV cache</b>. It saves the work "
    "of reading the text again for each token, and it costs memory, for each token, in each layer."
)


@st.fragment
def one_step() -> None:
    """The cache after one step. Nothing here runs the model: the measured run is opened up."""
    lesson.redraw_if_moved()
    writing = measuring.written()
    if writing is None:  # freed meanwhile: the page measures it anew
        st.rerun()
    step = step_slider(lesson, writing)
    parts.grid_figure(lesson, writing, step)
    parts.grid_sentence(lesson, writing, step)
    parts.bytes_equation(lesson, writing.passes[step])
    st.header("The rows themselves", anchor=False)
    parts.head_choice(lesson)
    parts.rows_figures(lesson, writing, step)
    if box := anatomy.look_inside("one layer's tensors, and what a token costs", "cache_inside"):
        with box:
            parts.tensors(lesson, writing, step)
    write_address(view)


st.header("Growth, step by step", anchor=False)
if problem := measuring.refusal(lesson):
    st.warning(prose.plain(problem), icon=":material/edit:")
else:
    measuring.writing(lesson, lambda found: parts.live(lesson, found), "Write with the cache")
    if measuring.written() is not None:
        one_step()


@st.fragment
def memory() -> None:
    """The calculator, whether it fits, and what makes it smaller: arithmetic on sizes alone."""
    lesson.redraw_if_moved()
    st.header("The calculator", anchor=False)
    calculator.cache_controls(lesson)
    sizing = calculator.sizing_of(lesson)
    calculator.too_long(lesson, sizing)
    calculator.cache_equation(lesson, sizing)
    calculator.size_sentences(lesson, sizing)
    calculator.curve_figure(lesson, sizing)
    st.header("Does it fit?", anchor=False)
    fit_parts.machine_controls(lesson)
    calculator.weights_equation(lesson, sizing)
    shared = fit_parts.fits(lesson)
    fit_parts.memory_figure(lesson, shared)
    fit_parts.fit_sentence(lesson, shared)
    st.header("What can be done about it, and for what price", anchor=False)
    fit_parts.remedies_figure(lesson, sizing)
    fit_parts.prices(sizing)
    fit_parts.offload_figure(lesson, sizing)
    write_address(view)


memory()

st.header("Fewer bits, tried on the open model", anchor=False)
if why := why_not_in_fewer_bits(lesson.lm):
    prose.say("Not with this model. {why}", why=prose.literal(why))
else:
    prose.say(
        "The model writes the same text greedily with its cache in full precision, then in {bits} bits. The weights "
        "stay as they are: only what is <b class='c'>kept</b> is rounded.",
        bits=prose.Html(", ".join(map(str, fewer_bits_parts.BITS))),
    )
    fewer_bits_parts.in_force(lesson)
    anatomy.measured(
        fewer_bits_parts.key(lesson),
        "fewer_bits",
        lambda: fewer_bits_parts.work(lesson),
        lambda found: fewer_bits_parts.show(lesson, found),
        button="Write with each cache",
        progress=fewer_bits_parts.progress,
    )

anatomy.try_presets(
    lesson,
    [
        (
            "One KV head a query head",
            "GPT-3 shares nothing: its weights are large, and so is what it keeps.",
            {"shape": "GPT-3 175B", "context": 2_048, "cache_bits": 16, "requests": 1},
        ),
        (
            "Windows",
            "Gemma 3: five of six layers keep 1,024 tokens and stop growing.",
            {"shape": "Gemma-3-27B (text)", "context": 131_072, "cache_bits": 16, "requests": 1},
        ),
        (
            "Latent",
            "DeepSeek keeps one compressed vector in place of 128 keys and values.",
            {"shape": "DeepSeek-V3", "context": 131_072, "cache_bits": 16, "requests": 1},
        ),
        (
            "Make it fit",
            "Llama 3.1 70B with weights in 4 bits and its cache in 8, on one machine of 80 GB.",
            {"shape": "Llama-3.1-70B", "context": 131_072, "cache_bits": 8, "weight_bits": 4, "gpu": "NVIDIA H100 SXM"},
        ),
    ],
)
parts.check(lesson)
anatomy.limit(
    "A formula counts numbers, not what a program does with memory. Real servers keep the cache in blocks, set room "
    "aside, share what several requests have in common, and need memory for activations: here all that is one number "
    "you set. And a cache that fits may still be slow, because every step reads all of it."
)
anatomy.code(
    f"""import model
from model.cost import kv_bytes
from model.generation import generate
from model.published import architectures

print(kv_bytes(architectures()["Llama-3.1-70B"], 131_072))
lm = model.open_model({view.model!r})
for step in generate(lm, {view.prompt!r}, max_tokens=4):
    print(step.index, max(step.held), step.cache_bytes)"""
)
frame.next_page(lesson)
