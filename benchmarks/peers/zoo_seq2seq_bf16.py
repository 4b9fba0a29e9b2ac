"""The zoo's own side under bfloat16 autocast."""

from common import measure
from zoo_seq2seq import build

if __name__ == "__main__":
    measure(build, mixed=True)
