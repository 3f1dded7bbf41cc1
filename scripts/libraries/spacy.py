# pip install spacy
import random

import numpy
import spacy
import torch
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Linear, PyTorchWrapper, chain, set_dropout_rate  # noqa: F401

fix_random_seed(0)
random.seed(0)
nlp = spacy.blank("en")
classifier = nlp.add_pipe("textcat")
texts = [("good film", "POS"), ("bad film", "NEG"), ("very good", "POS"), ("so bad", "NEG"), ("fine and good", "POS")]
for label in ("POS", "NEG"):
    classifier.add_label(label)
examples = [
    Example.from_dict(nlp.make_doc(text), {"cats": {"POS": label == "POS", "NEG": label == "NEG"}})
    for text, label in texts
]
optimizer = nlp.initialize(lambda: examples)
for _ in range(5):
    losses = {}
    nlp.update(examples, sgd=optimizer, losses=losses)
print(losses["textcat"], sorted(nlp("good").cats.items()))
layer = PyTorchWrapper(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.GELU()))
x = numpy.arange(8, dtype="float32").reshape(2, 4) / 8
y, backward = layer.begin_update(x)
print(y.sum(), backward(numpy.ones_like(y)).sum())
