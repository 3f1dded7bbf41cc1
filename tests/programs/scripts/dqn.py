import math
import random
from collections import namedtuple, deque
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))
random.seed(1); torch.manual_seed(1); np.random.seed(1)


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class Walk:
    def reset(self):
        self.p = 3
        self.t = 0
        return self.obs()

    def obs(self):
        v = np.zeros(7, dtype=np.float32)
        v[self.p] = 1
        return v

    def step(self, a):
        self.p += 1 if a == 1 else -1
        self.t += 1
        done = self.p in (0, 6)
        return self.obs(), float(self.p == 6), done, self.t > 20


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


BATCH, GAMMA, TAU = 16, 0.9, 0.05
policy_net, target_net = DQN(7, 2).to(device), DQN(7, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
memory = ReplayMemory(500)
steps_done = 0


def select_action(state):
    global steps_done
    eps = 0.05 + 0.85 * math.exp(-1. * steps_done / 50)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH:
        return None
    transitions = memory.sample(BATCH)
    batch = Transition(*zip(*transitions))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    q = policy_net(state_batch).gather(1, action_batch)
    nxt = torch.zeros(BATCH, device=device)
    with torch.no_grad():
        nxt[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = (nxt * GAMMA) + reward_batch
    loss = nn.SmoothL1Loss()(q, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss


env = Walk()
for ep in range(30):
    state = torch.tensor(env.reset(), dtype=torch.float32, device=device).unsqueeze(0)
    total, loss = 0, None
    while True:
        action = select_action(state)
        obs, reward, terminated, truncated = env.step(action.item())
        total += reward
        reward = torch.tensor([reward], device=device)
        next_state = None if terminated else torch.tensor(obs, dtype=torch.float32, device=device).unsqueeze(0)
        memory.push(state, action, next_state, reward)
        state = next_state
        loss = optimize_model()
        tsd, psd = target_net.state_dict(), policy_net.state_dict()
        for key in psd:
            tsd[key] = psd[key] * TAU + tsd[key] * (1 - TAU)
        target_net.load_state_dict(tsd)
        if terminated or truncated:
            break
    print(ep, total, None if loss is None else round(loss.item(), 5))
print(policy_net(torch.eye(7)))
