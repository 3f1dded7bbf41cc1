"""NLP From Scratch: classifying names with a character-level RNN (tutorial style)."""
import string
import unicodedata
import random
import time
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
random.seed(3)
all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters)


def unicodeToAscii(s):
    return ''.join(c for c in unicodedata.normalize('NFD', s) if unicodedata.category(c) != 'Mn' and c in all_letters)


category_lines = {
    'Czech': ['Abl', 'Adsit', 'Ajdrna', 'Blazek', 'Cernik', 'Dvořák', 'Hajek', 'Kafka', 'Novák'],
    'German': ['Abbing', 'Bauer', 'Brandt', 'Fischer', 'Hahn', 'Keller', 'Schäfer', 'Vogel', 'Wagner'],
    'Japanese': ['Abe', 'Endo', 'Fukuda', 'Hayashi', 'Ito', 'Kimura', 'Mori', 'Sato', 'Tanaka'],
}
category_lines = {k: [unicodeToAscii(n) for n in v] for k, v in category_lines.items()}
all_categories = list(category_lines)
n_categories = len(all_categories)


def letterToIndex(letter):
    return all_letters.find(letter)


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letterToIndex(letter)] = 1
    return tensor


print(lineToTensor('J').size(), lineToTensor('Jones').size())


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        hidden = F.tanh(self.i2h(input) + self.h2h(hidden))
        output = self.h2o(hidden)
        output = self.softmax(output)
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


n_hidden = 32
rnn = RNN(n_letters, n_hidden, n_categories)


def categoryFromOutput(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return all_categories[category_i], category_i


criterion = nn.NLLLoss()
learning_rate = 0.005


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current_loss = 0
all_losses = []
for it in range(1, 151):
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    category_tensor = torch.tensor([all_categories.index(category)], dtype=torch.long)
    output, loss = train(category_tensor, lineToTensor(line))
    current_loss += loss
    if it % 10 == 0:
        guess, guess_i = categoryFromOutput(output)
        correct = '✓' if guess == category else '✗ (%s)' % category
        print('%d %d%% %.4f %s / %s %s' % (it, it / 150 * 100, loss, line, guess, correct))
        all_losses.append(current_loss / 10)
        current_loss = 0
confusion = torch.zeros(n_categories, n_categories)
for i in range(60):
    category = random.choice(all_categories)
    hidden = rnn.initHidden()
    with torch.no_grad():
        for ch in lineToTensor(random.choice(category_lines[category])):
            output, hidden = rnn(ch, hidden)
    confusion[all_categories.index(category)][categoryFromOutput(output)[1]] += 1
for i in range(n_categories):
    confusion[i] = confusion[i] / confusion[i].sum()
print(confusion)
topv, topi = output.topk(2, 1, True)
for i in range(2):
    value = topv[0][i].item()
    print('(%.2f) %s' % (value, all_categories[topi[0][i].item()]))
