"""The producer's memory is bounded, shared in order of arrival, and pooled in pieces of one size."""

from kafka_py.clients.producer.buffer_pool import BufferPool


def test_we2_12_pieces_of_batch_size_are_pooled_and_others_are_not() -> None:
    pool = BufferPool(total=100_000, piece=16_384)
    assert pool.try_allocate(16_384)
    assert pool.try_allocate(20_000)
    pool.deallocate(16_384)
    pool.deallocate(20_000)
    assert pool.free_pieces == 1
    assert pool.available == 100_000


def test_pooled_pieces_are_given_up_for_a_large_record() -> None:
    pool = BufferPool(total=100, piece=40)
    for _ in range(2):
        assert pool.try_allocate(40)
    pool.deallocate(40)
    pool.deallocate(40)
    assert pool.try_allocate(90)
    assert pool.available == 10


def test_memory_goes_to_who_waits_longest_even_when_later_ones_would_fit() -> None:
    pool = BufferPool(total=100, piece=10)
    served: list[str] = []
    assert pool.try_allocate(100)
    pool.wait(80, lambda: served.append("large"))
    pool.wait(10, lambda: served.append("small"))
    assert not pool.try_allocate(1)
    for notify in pool.deallocate(50):
        notify()
    assert served == []
    for notify in pool.deallocate(50):
        notify()
    assert served == ["large", "small"]
    assert pool.available == 10


def test_a_waiter_that_leaves_gives_back_its_place_and_its_grant() -> None:
    pool = BufferPool(total=10, piece=10)
    assert pool.try_allocate(10)
    first = pool.wait(10, lambda: None)
    second = pool.wait(10, lambda: None)
    pool.deallocate(10)
    assert first.granted
    assert not second.granted
    pool.withdraw(first)
    assert second.granted
    pool.withdraw(second)
    assert pool.available == 10
