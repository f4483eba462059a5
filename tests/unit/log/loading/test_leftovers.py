"""What a crash leaves in a log's directory is tidied up when the log is opened."""



from ..stored import filled, offsets


def test_index_files_without_a_log_are_removed():
    world = filled(3)
    world.log.close()
    for suffix in (".index", ".timeindex", ".txnindex"):
        world.files.open(f"{world.directory}/00000000000000000077{suffix}", create=True)
    world.open(is_clean=True)
    assert not [name for name in world.names() if name.startswith("00000000000000000077")]


def test_deleted_and_half_cleaned_files_are_removed():
    world = filled(3)
    world.log.close()
    for name in ("0.log.deleted", "0.index.cleaned", "5.log.cleaned"):
        world.files.open(f"{world.directory}/{name.zfill(20 + len(name) - 1)}", create=True)
    assert world.names(".log.deleted") == ["00000000000000000000.log.deleted"]
    world.open(is_clean=True)
    assert [name for name in world.names() if name.endswith((".deleted", ".cleaned"))] == []
    assert world.log.log_end_offset == 3


def swap(world, name, data):
    world.files.open(f"{world.directory}/{name}.swap", create=True).write(data, 0)


def test_a_finished_swap_replaces_what_it_overlaps():
    world = filled()
    world.log.close()
    kept = world.data("00000000000000000000.log")[170 * 3 : 170 * 5] + world.data("00000000000000000010.log")[170 * 8 :]
    swap(world, "00000000000000000000.log", kept)
    swap(world, "00000000000000000000.index", b"")
    world.open(is_clean=True)
    assert [segment.base_offset for segment in world.log.segments] == [0, 20]
    assert offsets(world) == [3, 4, 18, 19, *range(20, 30)]
    assert world.names(".swap") == []
    assert world.log.log_end_offset == 30


def test_swaps_behind_an_unfinished_cleaned_file_are_dropped():
    world = filled()
    world.log.close()
    swap(world, "00000000000000000010.log", world.data("00000000000000000010.log")[:170])
    world.files.open(f"{world.directory}/00000000000000000000.log.cleaned", create=True)
    world.open(is_clean=True)
    assert offsets(world) == list(range(30))
    assert world.names(".swap") == []
