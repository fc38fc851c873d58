"""The tests. They share `tests._shared` and the fixtures of conftest.py."""

import pytest

pytest.register_assert_rewrite("tests._shared")  # so that its asserts say what they compared
