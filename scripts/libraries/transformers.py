# pip install transformers
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

torch.manual_seed(0)
tokens = torch.randint(0, 100, (2, 12))
small = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
}
bert = BertForSequenceClassification(
    BertConfig(**small, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
)
out = bert(tokens, labels=torch.tensor([0, 2]))
out.loss.backward()
print(out.loss.item(), bert.bert.embeddings.word_embeddings.weight.grad.abs().sum().item())
gpt = GPT2LMHeadModel(
    GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=99)
).eval()
print(gpt(tokens, labels=tokens).loss.item(), gpt.generate(tokens[:1, :4], max_new_tokens=5, do_sample=False).tolist())
llama = LlamaForCausalLM(LlamaConfig(**small, num_key_value_heads=2)).eval()
print(llama(tokens, labels=tokens).loss.item())
