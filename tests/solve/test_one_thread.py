"""Questions hold BLAS to one thread, and give back what it had."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import stationary as st
from stationary.solve.arguments import quiet


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def three():
    with threadpool_limits(3, user_api="blas"):
        if threads() != {3}:
            pytest.skip("this BLAS has no threads")
        yield


@quiet
def question(*, then=threads):
    return then()


def test_a_question_has_one_thread_and_gives_back_what_there_was(three):
    assert question() == {1} and threads() == {3}
    assert question(then=question) == {1} and threads() == {3}


def test_a_question_that_fails_gives_them_back_too(three):
    x = st.coordinates("x")
    with pytest.raises(st.StationaryError):
        st.simulate(st.System(kinetic=x.dot**2 / 2, potential=-(x**4)), span=(0, 9), start={x: 1})
    assert threads() == {3}


def test_a_question_in_another_thread_leaves_their_number_as_it_is(three):
    """It ends after one of the main thread that began before it."""
    begun, ended, seen = threading.Event(), threading.Event(), []

    def long():
        begun.set()
        assert ended.wait(60)
        seen.append(threads())

    other = threading.Thread(target=question, kwargs={"then": long})

    def beside():
        other.start()
        assert begun.wait(60)
        return threads()

    assert question(then=beside) == {1} and threads() == {3}
    ended.set()
    other.join()
    assert seen == [{3}] and threads() == {3}
