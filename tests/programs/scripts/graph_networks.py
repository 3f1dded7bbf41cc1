import math
import numpy as np
import scipy.sparse as sp
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter

np.random.seed(72)
torch.manual_seed(72)
n, f, c = 34, 12, 3
lab = np.random.randint(0, c, n)
adj = (np.random.rand(n, n) < np.where(lab[:, None] == lab[None], 0.3, 0.05)).astype(np.float32)
adj = np.maximum(adj, adj.T)
np.fill_diagonal(adj, 1)
feat = np.random.randn(n, f) + np.eye(c)[lab] @ np.random.randn(c, f)


def normalize(mx):
    rowsum = np.array(mx.sum(1))
    r_inv = np.power(rowsum, -1).flatten()
    r_inv[np.isinf(r_inv)] = 0.
    return sp.diags(r_inv).dot(mx)


A = torch.FloatTensor(np.array(normalize(sp.csr_matrix(adj)).todense()))
X = torch.FloatTensor(feat)
y = torch.LongTensor(lab)
idx_train, idx_test = torch.LongTensor(range(20)), torch.LongTensor(range(20, n))


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return self.__class__.__name__ + ' (' + str(self.in_features) + ' -> ' + str(self.out_features) + ')'


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout, self.out_features, self.concat = dropout, out_features, concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[:self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features:, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout, alpha, nheads):
        super().__init__()
        self.dropout = dropout
        self.attentions = [GraphAttentionLayer(nfeat, nhid, dropout=dropout, alpha=alpha, concat=True) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module('attention_{}'.format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, dropout=dropout, alpha=alpha, concat=False)

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(F.elu(self.out_att(x, adj)), dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


for model in (GCN(f, 16, c, 0.5), GAT(f, 4, c, 0.3, 0.2, 2)):
    print(model)
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(10):
        model.train()
        optimizer.zero_grad()
        output = model(X, A)
        loss_train = F.nll_loss(output[idx_train], y[idx_train])
        acc_train = accuracy(output[idx_train], y[idx_train])
        loss_train.backward()
        optimizer.step()
        print('Epoch: {:04d}'.format(epoch + 1), 'loss_train: {:.4f}'.format(loss_train.item()), 'acc_train: {:.4f}'.format(acc_train.item()))
    model.eval()
    output = model(X, A)
    print("Test set results:", "loss= {:.4f}".format(F.nll_loss(output[idx_test], y[idx_test]).item()), "accuracy= {:.4f}".format(accuracy(output[idx_test], y[idx_test]).item()))

# message passing with scatter
ei = torch.tensor(adj).nonzero().t()
row, col = ei
deg = torch.zeros(n).scatter_add_(0, row, torch.ones(row.size(0)))
out = torch.zeros(n, f).index_add_(0, col, X[row] / deg[row].unsqueeze(-1))
print(deg, out.sum())
alpha = torch.rand(row.numel())
mx = torch.full((n,), -1e9).scatter_reduce(0, row, alpha, reduce='amax', include_self=True)
ex = torch.exp(alpha - mx[row])
print((ex / torch.zeros(n).scatter_add(0, row, ex)[row]).sum())
