"""What the check of a replica against a producer's acknowledgements accepts and refuses."""

import pytest
from acknowledged import check_replica

from kafka_py.testing.fakes.stored_logs import batch


def stored(*batches: tuple[int, list[int]]) -> bytes:
    """Batches of (producer epoch, numbers), one after another from offset 0."""
    data, offset = b"", 0
    for epoch, numbers in batches:
        values = [b"%d" % number for number in numbers]
        data += batch(values, base_offset=offset, producer_id=1, producer_epoch=epoch, base_sequence=0)
        offset += len(numbers)
    return data


@pytest.mark.parametrize(
    ("data", "acknowledged"),
    [
        (stored((0, [0, 1]), (0, [2])), {0: 0, 1: 1, 2: 2}),
        (stored((0, [0, 1]), (0, [3])), {0: 0, 1: 1}),
        (stored((0, [0, 1, 2]), (1, [1, 2])), {0: 0, 1: 3, 2: 4}),
    ],
    ids=["all", "some failed", "sent again under the next epoch, acknowledged there only"],
)
def test_accepted(data: bytes, acknowledged: dict[int, int]) -> None:
    check_replica(data, acknowledged)


@pytest.mark.parametrize(
    ("data", "acknowledged"),
    [
        (stored((0, [0, 2])), {0: 0, 1: 1, 2: 1}),
        (stored((0, [0, 1]), (0, [1, 2])), {0: 0, 1: 2, 2: 3}),
        (stored((0, [0, 2]), (0, [1])), {0: 0, 1: 2, 2: 1}),
        (stored((0, [0, 1]), (1, [1, 2])), {0: 0, 1: 1, 2: 3}),
        (stored((0, [0]), (1, [1]), (0, [2])), {0: 0, 1: 1, 2: 2}),
    ],
    ids=["missing", "twice", "order", "sent again after it was acknowledged", "an old epoch after a new one"],
)
def test_refused(data: bytes, acknowledged: dict[int, int]) -> None:
    with pytest.raises(AssertionError):
        check_replica(data, acknowledged)
