"""The pieces of a first program of several processes: messages, collectives, and training by hand."""

import os
import sys
from math import ceil
from random import Random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


class Partition:
    def __init__(self, data, index):
        self.data, self.index = data, index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        return self.data[self.index[i]]


class Partitioner:
    def __init__(self, data, sizes, seed=1234):
        self.data, self.partitions = data, []
        order = list(range(len(data)))
        Random(seed).shuffle(order)
        for fraction in sizes:
            length = int(fraction * len(data))
            self.partitions.append(order[:length])
            order = order[length:]

    def use(self, i):
        return Partition(self.data, self.partitions[i])


def partition_dataset():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(96, 1, 8, 8, generator=generator)
    data = list(zip(x, (x.mean((1, 2, 3)) * 40).long().clamp(-4, 5) + 4))
    size = dist.get_world_size()
    batch = 32 // size
    part = Partitioner(data, [1.0 / size for _ in range(size)]).use(dist.get_rank())
    return torch.utils.data.DataLoader(part, batch_size=batch, shuffle=False), batch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.fc1, self.fc2 = nn.Linear(36, 16), nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x.view(-1, 36)))), dim=1)


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def allreduce(send, recv):
    """A ring, by messages."""
    rank, size = dist.get_rank(), dist.get_world_size()
    send_buff, recv_buff, accum = send.clone(), send.clone(), send.clone()
    left, right = ((rank - 1) + size) % size, (rank + 1) % size
    for i in range(size - 1):
        if i % 2 == 0:
            send_req = dist.isend(send_buff, right)
            dist.recv(recv_buff, left)
            accum[:] += recv_buff[:]
        else:
            send_req = dist.isend(recv_buff, right)
            dist.recv(send_buff, left)
            accum[:] += send_buff[:]
        send_req.wait()
    recv[:] = accum[:]


def run(rank, size):
    tensor = torch.zeros(1)
    if rank == 0:
        tensor += 1
        dist.send(tensor=tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor=tensor, src=0)
    group = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM, group=group)
    total = torch.zeros(3)
    allreduce(torch.ones(3) * (rank + 1), total)
    torch.manual_seed(1234)
    train_set, batch = partition_dataset()
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    batches = ceil(len(train_set.dataset) / float(batch))
    losses = []
    for _ in range(3):
        epoch_loss = 0.0
        for data, target in train_set:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        losses.append(epoch_loss / batches)
    found = torch.tensor(losses)
    dist.reduce(found, 0)
    if rank == 0:
        print(tensor.item(), total.tolist(), [round(v / size, 4) for v in found.tolist()])


def init_process(rank, size, fn, port, backend="gloo"):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", port
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    world_size, processes = 3, []
    mp.set_start_method("spawn")
    for rank in range(world_size):
        p = mp.Process(target=init_process, args=(rank, world_size, run, sys.argv[1]))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    sys.exit(max(abs(p.exitcode) for p in processes))
