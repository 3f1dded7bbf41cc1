import argparse
import math
from itertools import count
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class CartPole:
    """Gym's CartPole dynamics."""
    def __init__(self):
        self.rng = np.random.RandomState(0)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        return self.s.astype(np.float32), {}

    def step(self, action):
        x, xd, th, thd = self.s
        f = 10.0 if action == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        temp = (f + 0.05 * thd ** 2 * s) / 1.1
        tacc = (9.8 * s - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c ** 2 / 1.1))
        xacc = temp - 0.05 * tacc * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * tacc])
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 12 * math.pi / 180
        return self.s.astype(np.float32), 1.0, done, False, {}


parser = argparse.ArgumentParser()
parser.add_argument('--gamma', type=float, default=0.99)
parser.add_argument('--seed', type=int, default=543)
args = parser.parse_args()
env = CartPole()
torch.manual_seed(args.seed)


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 128)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(128, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss


running_reward = 10
for i_episode in range(1, 16):
    state, _ = env.reset()
    ep_reward = 0
    for t in range(1, 200):
        action = select_action(state)
        state, reward, done, _, _ = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    loss = finish_episode()
    print('Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}\tloss {:.4f}'.format(i_episode, ep_reward, running_reward, loss))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.action_head = nn.Linear(64, 2)
        self.value_head = nn.Linear(64, 1)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = ActorCritic()
optimizer = optim.Adam(model.parameters(), lr=3e-2)
for ep in range(8):
    state, _ = env.reset()
    saved, rewards, ents = [], [], []
    for t in range(200):
        probs, value = model(torch.from_numpy(state).float())
        m = Categorical(probs)
        action = m.sample()
        saved.append((m.log_prob(action), value))
        ents.append(m.entropy())
        state, r, done, _, _ = env.step(action.item())
        rewards.append(r)
        if done:
            break
    R, rets = 0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        rets.insert(0, R)
    rets = torch.tensor(rets)
    rets = (rets - rets.mean()) / (rets.std() + eps)
    pl, vl = [], []
    for (lp, v), R in zip(saved, rets):
        pl.append(-lp * (R - v.item()))
        vl.append(F.smooth_l1_loss(v, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(pl).sum() + torch.stack(vl).sum() - 0.01 * torch.stack(ents).mean()
    loss.backward()
    optimizer.step()
    print(f'AC {ep} len {len(rewards)} loss {loss.item():.4f}')
