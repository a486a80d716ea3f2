"""What programs at the edge of the control-flow API do: as TensorFlow 2.21 does, where it was run."""

from __future__ import annotations

import pytest

import flowc


@pytest.mark.parametrize("known", [True, False])
def test_one_place_twice_in_one_operation(known: bool) -> None:
    """A scatter writes, and a gather reads and clears, one element after another."""
    with flowc.Graph().as_default(), flowc.Session() as session:
        places = flowc.constant([1, 1]) if known else flowc.placeholder(flowc.int32, [None])
        feed = {} if known else {places: [1, 1]}
        rows = flowc.constant([1.0, 2.0])
        written = flowc.TensorArray(flowc.float32, 3).scatter(places, rows).read(1)
        with pytest.raises(flowc.errors.InvalidArgumentError, match="index 1 because it has alrea"):
            session.run(written, feed)
        for clear in (True, False):
            array = flowc.TensorArray(flowc.float32, 2, clear_after_read=clear).unstack(rows)
            read = array.gather(places)
            if clear:
                with pytest.raises(flowc.errors.InvalidArgumentError, match="index 1 twice"):
                    session.run(read, feed)
            else:
                assert session.run(read, feed).tolist() == [2.0, 2.0]


def test_sizes_that_a_default_gives_are_not_settled() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        count = flowc.placeholder_with_default(2, [])
        counted = flowc.range(count)
        stacked = flowc.TensorArray(flowc.int32, count).unstack(counted).stack()
        assert counted.shape.as_list() == stacked.shape.as_list() == [None]
        assert session.run(stacked).tolist() == [0, 1]
        assert session.run(stacked, {count: 3}).tolist() == [0, 1, 2]


def test_names_where_nothing_is_made() -> None:
    """A cast to the dtype that is there takes no name; zeros of no elements are a constant."""
    with flowc.Graph().as_default() as graph:
        one = flowc.constant(1)
        assert flowc.cast(one, flowc.int32) is one
        assert flowc.cast(one, flowc.int64).name == "Cast:0"
        assert flowc.zeros([0, 2]).op.type == "Const"
        assert len(graph.get_operations()) == 3
