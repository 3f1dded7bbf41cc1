# pip install pykeen
import numpy as np
import torch
from pykeen.models import ComplEx, DistMult, RotatE, TransE
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import TriplesFactory

triples = np.array(
    [["a", "r", "b"], ["b", "r", "c"], ["c", "s", "a"], ["a", "s", "d"], ["d", "r", "b"], ["b", "s", "d"]]
)
factory = TriplesFactory.from_labeled_triples(triples)
for Model in (TransE, DistMult, ComplEx, RotatE):
    model = Model(triples_factory=factory, embedding_dim=8, random_seed=0)
    optimizer = torch.optim.Adam(model.get_grad_params(), lr=0.05)
    loop = SLCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer)
    losses = loop.train(triples_factory=factory, num_epochs=3, batch_size=6, use_tqdm=False, drop_last=False)
    print(Model.__name__, losses, model.score_hrt(factory.mapped_triples).sum().item())
