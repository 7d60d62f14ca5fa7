"""How does a model write? The loop, from a text to its next token, on one picture.

The entry of the app and its first lesson. ``streamlit run server.py`` runs it with the model
opened beforehand.
"""

from pages.shared import anatomy, frame, prose
from pages.shared import home_parts as parts

lesson = frame.open_page("home")
view, shape = lesson.view, lesson.lm.architecture

prose.say(
    "A language model writes one token at a time. Your text goes in on the left; {layers} layers turn it into a "
    "probability for every possible next token; one is drawn and joins the text. Then all of it again.",
    layers=shape.layers,
)
parts.controls(lesson)
parts.run_on(lesson)
parts.show_loop(lesson)
parts.sentence(lesson)

if lesson.lm.additions_add_up and (box := anatomy.look_inside("what the opened layer adds, in numbers", "home_inside")):
    with box:
        parts.addition(lesson)

parts.branches(lesson)
anatomy.try_presets(
    lesson,
    [
        ("Another head", "Layer 13, head 8: on the first text, 'is' looks at 'capital'.", {"layer": 13, "head": 8}),
        ("A story", "Here the model is unsure: many tokens are possible.", {"prompt": "Once upon a time there was a"}),
        ("Always the likeliest", "Temperature 0, and the same text comes out every time.", {"t": 0.0}),
    ],
)
parts.check(lesson)
anatomy.limit(
    "The picture follows one head of one layer; the model has {heads}, and what it answers comes from all of them "
    "together. The guesses after earlier layers are read with a tool made for the last one: they show a direction, "
    "not a thought.",
    heads=shape.layers * shape.query_heads,
)
anatomy.code(
    f"""import model

lm = model.open_model({view.model!r})
for step in model.generate(lm, {view.prompt!r}, model.{view.settings!r}, max_tokens=12):
    print(lm.vocabulary.labels[step.draw.id], round(step.draw.probability, 4), step.stop or "")"""
)
frame.next_page(lesson)
