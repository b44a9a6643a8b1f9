"""Makes a folder that vLLM can serve with random weights: a tokenizer and the shape of a very small Qwen2.

usage: tiny_model.py FOLDER

The tokenizer is a byte-level BPE trained on the sources of Python's standard library, which every machine has.
"""

import json
import sys
import sysconfig
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT, TURN, END_OF_TURN = SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCABULARY = 2048
CONTEXT = 2048

CHAT_TEMPLATE = (
    "{% for turn in messages %}" + TURN + "{{ turn['role'] }}\n{{ turn['content'] }}" + END_OF_TURN + "\n{% endfor %}"
    "{% if add_generation_prompt %}" + TURN + "assistant\n{% endif %}"
)


def tokenizer() -> Tokenizer:
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:120]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train([str(path) for path in sources], trainer)
    return bpe


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    bpe = tokenizer()
    first, last = bpe.token_to_id(END_OF_TEXT), bpe.token_to_id(END_OF_TURN)
    files = {
        "config.json": {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "vocab_size": bpe.get_vocab_size(),
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": CONTEXT,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "tie_word_embeddings": True,
            "use_sliding_window": False,
            "torch_dtype": "float32",
            "bos_token_id": first,
            "eos_token_id": last,
        },
        "generation_config.json": {"bos_token_id": first, "eos_token_id": last, "pad_token_id": first},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT,
            "eos_token": END_OF_TURN,
            "pad_token": END_OF_TEXT,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")
    # Last: its presence says that the folder is complete.
    bpe.save(str(folder / "tokenizer.json"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
