# pip install stable-baselines3
import gymnasium as gym
from stable_baselines3 import A2C, DQN, PPO

for kind, options in ((PPO, {"n_steps": 64, "batch_size": 32}), (A2C, {}), (DQN, {"learning_starts": 50})):
    model = kind("MlpPolicy", gym.make("CartPole-v1"), seed=0, device="cpu", **options).learn(128)
    observation, _ = gym.make("CartPole-v1").reset(seed=1)
    print(
        kind.__name__,
        model.predict(observation, deterministic=True)[0],
        sum(p.sum().item() for p in model.policy.parameters()),
    )
