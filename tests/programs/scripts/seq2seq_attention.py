"""Seq2seq translation with Bahdanau attention, tutorial style."""
from io import open
import random
import re
import numpy as np
import torch
import torch.nn as nn
from torch import optim
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader, RandomSampler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SOS_token, EOS_token, MAX_LENGTH = 0, 1, 8
random.seed(0); np.random.seed(0); torch.manual_seed(0)
pairs = [("je suis froid", "i am cold"), ("je suis en forme", "i am fit"), ("il est grand", "he is tall"), ("elle est petite", "she is small"),
         ("nous sommes ici", "we are here"), ("tu es gentil", "you are kind"), ("ils sont partis", "they are gone"), ("je suis perdu", "i am lost")]


class Lang:
    def __init__(self, name):
        self.name = name
        self.word2index = {}
        self.index2word = {0: "SOS", 1: "EOS"}
        self.n_words = 2

    def addSentence(self, sentence):
        for w in sentence.split(' '):
            if w not in self.word2index:
                self.word2index[w] = self.n_words
                self.index2word[self.n_words] = w
                self.n_words += 1


input_lang, output_lang = Lang('fra'), Lang('eng')
for a, b in pairs:
    input_lang.addSentence(a)
    output_lang.addSentence(b)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs, attentions = [], []
        for i in range(MAX_LENGTH):
            embedded = self.dropout(self.embedding(decoder_input))
            query = decoder_hidden.permute(1, 0, 2)
            context, attn = self.attention(query, encoder_outputs)
            output, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            decoder_outputs.append(self.out(output))
            attentions.append(attn)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_outputs[-1].topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(decoder_outputs, dim=1), dim=-1), decoder_hidden, torch.cat(attentions, dim=1)


def ids(lang, s):
    return [lang.word2index[w] for w in s.split(' ')] + [EOS_token]


n = len(pairs)
input_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
target_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
for idx, (a, b) in enumerate(pairs):
    i, o = ids(input_lang, a), ids(output_lang, b)
    input_ids[idx, :len(i)] = i
    target_ids[idx, :len(o)] = o
data = TensorDataset(torch.LongTensor(input_ids).to(device), torch.LongTensor(target_ids).to(device))
loader = DataLoader(data, sampler=RandomSampler(data), batch_size=4)
encoder = EncoderRNN(input_lang.n_words, 32).to(device)
decoder = AttnDecoderRNN(32, output_lang.n_words).to(device)
eo, do = optim.Adam(encoder.parameters(), lr=0.01), optim.Adam(decoder.parameters(), lr=0.01)
criterion = nn.NLLLoss()
for epoch in range(1, 16):
    total = 0
    for x, y in loader:
        eo.zero_grad(); do.zero_grad()
        out, h = encoder(x)
        dec, _, _ = decoder(out, h, y)
        loss = criterion(dec.view(-1, dec.size(-1)), y.view(-1))
        loss.backward()
        eo.step(); do.step()
        total += loss.item()
    if epoch % 5 == 0:
        print('%d %.4f' % (epoch, total / len(loader)))
encoder.eval(); decoder.eval()
with torch.no_grad():
    for a, b in pairs[:4]:
        t = torch.tensor(ids(input_lang, a), dtype=torch.long, device=device).view(1, -1)
        out, h = encoder(t)
        dec, _, attn = decoder(out, h)
        _, topi = dec.topk(1)
        words = []
        for idx in topi.squeeze():
            if idx.item() == EOS_token:
                words.append('<EOS>')
                break
            words.append(output_lang.index2word[idx.item()])
        print('>', a, '=', b, '<', ' '.join(words), tuple(attn.shape))
