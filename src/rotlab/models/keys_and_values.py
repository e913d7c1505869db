"""The Transformer's cache of keys and values, and attention over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from rotlab.models.attention import attend_cached

# What the compiled attention is for; all else is torch's.
_COMPILED = (torch.float32, torch.float64)
# The fewest tokens that are worth a thread.
_SHARE = 64
_ALL = slice(None)
# Places that each slot has room for at first.
_FIRST_ROOM = 128


@dataclass(frozen=True)
class Pieces:
    """What is read at a time: B pieces of contexts, N tokens together, one piece after another.

    starts_B: how many tokens their slots hold before; ends_B: where each ends among the N; places_N: of each token in
    its context.
    """

    slots_B: Tensor
    starts_B: Tensor
    lengths_B: Tensor
    ends_B: Tensor
    places_N: Tensor


class KeysAndValues:
    """Of every layer the keys and values of lengths_S places in each slot, and room for more, up to a window."""

    def __init__(self, slots: int, layers: int, heads: int, window: int, like: Tensor) -> None:
        self.lengths_S = torch.zeros(slots, dtype=torch.int64, device=like.device)
        self._compiled = like.device.type == "cpu" and like.dtype in _COMPILED
        shape = 2, slots, 0, heads, like.shape[1] // heads
        self._pairs_2SPHd = [like.new_empty(shape) for _ in range(layers)]
        self._window = window
        self._pairs_2SPHd = [self._longer(pair, min(_FIRST_ROOM, window)) for pair in self._pairs_2SPHd]
        self._pool: ThreadPoolExecutor | None = None

    @property
    def room(self) -> int:
        """For how many places each slot has room."""
        return self._pairs_2SPHd[0].shape[2]

    def clear(self, slots_B: Tensor) -> None:
        """Begin new contexts in these slots."""
        self.lengths_S[slots_B] = 0

    def make_room(self, slots_B: Tensor, lengths_B: Tensor) -> None:
        """For so many more tokens in these slots."""
        places = int((self.lengths_S[slots_B] + lengths_B).max())
        if places > self.room:
            wanted = max(places, min(2 * self.room, self._window))
            self._pairs_2SPHd = [self._longer(pair, wanted) for pair in self._pairs_2SPHd]

    def pieces(self, slots_B: Tensor, lengths_B: Tensor) -> Pieces:
        """Where pieces of these lengths go, for which there is room."""
        starts_B, ends_B = self.lengths_S[slots_B], lengths_B.cumsum(0)
        ahead_N = (starts_B - ends_B + lengths_B).repeat_interleave(lengths_B)
        return Pieces(slots_B, starts_B, lengths_B, ends_B, torch.arange(len(ahead_N), device=ahead_N.device) + ahead_N)

    def shares(self, lengths_B: Tensor) -> list[slice]:
        """Runs of pieces of about as many tokens, one for each thread that is worth while."""
        ends_B = lengths_B.cumsum(0)
        total = int(ends_B[-1])
        n = min(torch.get_num_threads(), total // _SHARE, len(lengths_B)) if self._compiled else 1
        if n < 2:
            return [_ALL]
        cuts = torch.searchsorted(ends_B, torch.arange(1, n) * (total // n)).tolist()
        bounds = sorted({0, *cuts, len(lengths_B)})
        return [slice(lo, hi) for lo, hi in pairwise(bounds)]

    def in_threads(self, read: Callable[..., Tensor], shares: Iterable[tuple[Tensor, ...]]) -> list[Tensor]:
        """What `read` gives of each share, in their order."""
        threads = torch.get_num_threads()
        if self._pool is None:
            # Each has one thread for its products. That sets what later threads begin with, too, until it is set back.
            self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        done = list(self._pool.map(lambda share: read(*share), shares))
        torch.set_num_threads(threads)
        return done

    def _longer(self, pair_2SPHd: Tensor, places: int) -> Tensor:
        """With room for more places. What nobody looks at may hold anything; torch multiplies it, with zeros."""
        two, slots, room, heads, width = pair_2SPHd.shape
        new = pair_2SPHd.new_empty if self._compiled else pair_2SPHd.new_zeros
        longer_2SPHd = new((two, slots, places, heads, width))
        used_U = self.lengths_S.nonzero().squeeze(1)  # memory that nobody touches is none
        longer_2SPHd[:, used_U, :room] = pair_2SPHd[:, used_U]
        return longer_2SPHd

    def attend(self, layer: int, pieces: Pieces, last_only: bool, qkv_NE: Tensor) -> Tensor:
        """Keep a layer's keys and values; what each place takes from those up to it, mixed_ND.

        last_only: for the last place of each piece, mixed_BD.
        """
        keys_SPHd, values_SPHd = self._pairs_2SPHd[layer]
        qkv_N3Hd = qkv_NE.view(len(qkv_NE), 3, *keys_SPHd.shape[2:])
        if self._compiled:
            mixed_MHd = torch.empty_like(qkv_N3Hd[: len(pieces.slots_B) if last_only else None, 0])
            scores_P = keys_SPHd.new_zeros(keys_SPHd.shape[1])
            attend_cached(
                *(one.numpy() for one in (qkv_N3Hd, keys_SPHd, values_SPHd)),
                *(one.numpy() for one in (pieces.slots_B, pieces.starts_B, pieces.ends_B)),
                last_only, scores_P.numpy(), mixed_MHd.numpy(),
            )  # fmt: skip
            return mixed_MHd.flatten(1)
        slots_N = pieces.slots_B.repeat_interleave(pieces.lengths_B)
        keys_SPHd[slots_N, pieces.places_N], values_SPHd[slots_N, pieces.places_N] = qkv_N3Hd[:, 1], qkv_N3Hd[:, 2]
        last_B1 = (pieces.ends_B - 1).unsqueeze(1)
        if last_only:
            return self._attend_padded(layer, pieces.slots_B, qkv_N3Hd[last_B1, 0], pieces.places_N[last_B1]).flatten(1)
        mixed_NHd = torch.empty_like(qkv_N3Hd[:, 0])
        # Single tokens would else be padded as far as the longest piece.
        for part_C in (pieces.lengths_B == 1, pieces.lengths_B > 1):
            if not part_C.any():
                continue
            lengths_C1, ends_C1 = pieces.lengths_B[part_C].unsqueeze(1), pieces.ends_B[part_C].unsqueeze(1)
            steps_T = torch.arange(int(lengths_C1.max()), device=slots_N.device)
            within_CT = steps_T < lengths_C1
            tokens_CT = (ends_C1 - lengths_C1 + steps_T).clamp(max=len(slots_N) - 1)
            mixed_CTHd = self._attend_padded(
                layer, pieces.slots_B[part_C], qkv_N3Hd[tokens_CT, 0], pieces.places_N[tokens_CT]
            )
            mixed_NHd[tokens_CT[within_CT]] = mixed_CTHd[within_CT]
        return mixed_NHd.flatten(1)

    def _attend_padded(self, layer: int, slots_C: Tensor, query_CTHd: Tensor, places_CT: Tensor) -> Tensor:
        """mixed_CTHd of queries at places of their slots."""
        longest = int(places_CT.max()) + 1
        keys_CHLd, values_CHLd = (one[slots_C, :longest].transpose(1, 2) for one in self._pairs_2SPHd[layer])
        seen_C1TL = torch.arange(longest, device=slots_C.device) <= places_CT[:, None, :, None]
        mixed_CHTd = scaled_dot_product_attention(
            query_CTHd.transpose(1, 2), keys_CHLd, values_CHLd, attn_mask=seen_C1TL
        )
        return mixed_CHTd.transpose(1, 2)
