"""Blocks on several cores: order, errors, and the threads of BLAS, which are put back."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from torpca import OutlierRobustPCA, torp
from torpca._sources.parallel import blas_threads, in_order, single_threaded_blas


def threads_of_all():
    return {
        library["filepath"]: library["num_threads"] for library in ThreadpoolController().info()
    }


@pytest.fixture(autouse=True)
def three_threads():
    """BLAS with three threads, set by a thread that is gone: nobody holds the limit."""

    def set_to(number):
        for library in ThreadpoolController().select(user_api="blas").lib_controllers:
            library.set_num_threads(number.get(library.filepath, 3))

    before = threads_of_all()
    for number in ({}, before):
        thread = threading.Thread(target=set_to, args=(number,))
        thread.start()
        thread.join()
        if number is not before:
            if 3 not in threads_of_all().values():
                pytest.skip("BLAS here does not let its threads be set")
            yield


def test_the_last_thread_out_puts_the_threads_back():
    before = threads_of_all()
    first_is_in, second_is_in, first_is_out, looked = (threading.Event() for _ in range(4))

    def first():
        with single_threaded_blas:
            first_is_in.set()
            second_is_in.wait(60)
        first_is_out.set()
        looked.wait(60)  # it lives on, and threadpoolctl takes numbers from it alone

    def second():
        first_is_in.wait(60)
        with single_threaded_blas:
            second_is_in.set()
            first_is_out.wait(60)
            inside = threads_of_all(), blas_threads()
        return (*inside, threads_of_all())

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        inside, outside, after = pool.submit(second).result()
        looked.set()
    blas = {
        library["filepath"]
        for library in ThreadpoolController().info()
        if "blas" in library["user_api"]
    }
    assert {inside[path] for path in blas} == {1}
    assert outside == 3
    assert after == before
    assert threads_of_all() == before
    with threadpool_limits(2, user_api="blas"):  # others may set it again, too
        assert {threads_of_all()[path] for path in blas} == {2}
    assert threads_of_all() == before


@pytest.mark.slow
@pytest.mark.parametrize("spoilt", [False, True])
def test_fits_in_a_pool_of_threads_leave_blas_as_it_was(spoilt):
    before = threads_of_all()
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((n, 8)) for n in (100, 3000, 600, 40_000, 200, 1500)]
    if spoilt:
        for X in tables[::2]:
            X[7, 3] = np.nan

    def fit(X):
        OutlierRobustPCA(2).fit(X)
        torp(X, 2, rho=0.1)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(fit, X) for X in tables]
        assert [future.exception() is not None for future in futures] == [spoilt, False] * 3
        assert threads_of_all() == before


def test_a_limit_of_somebody_else_is_left_alone():
    entered, left = threading.Event(), threading.Event()

    def limited():
        with threadpool_limits(2, user_api="blas"):
            entered.set()
            left.wait(60)

    before = threads_of_all()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(limited)
        entered.wait(60)
        inside = threads_of_all()
        with single_threaded_blas:
            pass
        assert threads_of_all() == inside
        left.set()
        other.result()
    assert threads_of_all() == before


def test_a_limit_around_a_fit_stays_until_it_is_left():
    before = threads_of_all()
    with threadpool_limits(2, user_api="blas"):
        inside = threads_of_all()
        with single_threaded_blas:
            pass
        assert threads_of_all() == inside
    assert threads_of_all() == before


def test_where_blas_has_one_thread_others_may_still_set_it():
    def set_to(number):
        for library in ThreadpoolController().select(user_api="blas").lib_controllers:
            library.set_num_threads(number)

    def limited():
        with threadpool_limits(2, user_api="blas"):
            return max(threads_of_all().values())

    thread = threading.Thread(target=set_to, args=(1,))
    thread.start()
    thread.join()
    with single_threaded_blas:
        pass
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(limited).result() >= 2


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order_and_errors_come_through(workers):
    before = threads_of_all()
    assert list(in_order(lambda i: i * i, range(50), workers)) == [i * i for i in range(50)]
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda i: 1 / (i - 20), range(50), workers))
    results = in_order(lambda i: i, range(50), workers)
    assert next(results) == 0
    results.close()  # nobody wants the rest
    assert threads_of_all() == before


AFTER_THE_MAIN_THREAD = """
import threading
import numpy as np
from torpca import OutlierRobustPCA
from torpca._sources.parallel import in_order

X = np.random.default_rng(0).standard_normal((60_000, 40)) * np.r_[9.0, 8.0, np.ones(38)]

def late(expected):
    threading.main_thread().join()
    assert list(in_order(lambda i: i * i, range(9), 3)) == [i * i for i in range(9)]
    found = OutlierRobustPCA(2, random_state=0).fit(X)
    np.testing.assert_array_equal(found.components_, expected)
    print("fitted")

expected = OutlierRobustPCA(2, random_state=0).fit(X).components_
threading.Thread(target=late, args=(expected,)).start()
"""


def test_a_fit_goes_on_when_the_main_thread_has_ended():
    command = [sys.executable, "-c", AFTER_THE_MAIN_THREAD]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("fitted\n", "")


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_warn_of_what_the_caller_wants_to_be_warned_of(workers):
    numbers = [np.array([np.inf])] * 4
    with np.errstate(invalid="ignore"):
        assert all(np.isnan(x) for x in in_order(lambda x: x - x, numbers, workers))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        list(in_order(lambda x: x - x, numbers, workers))
