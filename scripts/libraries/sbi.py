# pip install sbi
import torch
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform

prior = BoxUniform(low=-torch.ones(2), high=torch.ones(2))
for Method, name in ((NPE, "maf"), (NLE, "nsf"), (NRE, "mlp")):
    torch.manual_seed(0)
    theta = prior.sample((100,))
    x = theta + 0.1 * torch.randn(100, 2)
    inference = Method(prior, name, show_progress_bars=False)
    estimator = inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=20)
    if Method is not NRE:  # whose loss does not depend on the last bias
        print(Method.__name__, sum(p.double().abs().sum().item() for p in estimator.parameters()))
potential = inference.build_posterior().potential(theta[:3], x=x[:1])
print((potential - potential.mean()).tolist())
