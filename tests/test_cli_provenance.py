"""What a report of the command line says about where it comes from."""

import hashlib

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from click.testing import CliRunner

from tests.test_report import data_of
from torpca import __version__
from torpca._cli.app import torpca
from torpca.datasets import make_outlier_subspace


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = make_outlier_subspace(200, 5, 2, 0.1, noise=0.01, random_state=0).X
    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    np.savetxt("new.csv", X[:50] + 0.02, delimiter=",", header="a,b,c,d,e", comments="")
    done = CliRunner().invoke(torpca, ["fit", "rows.csv", "-k", "2", "--scale", "--out", "a b"])
    assert done.exit_code == 0, done.output
    return tmp_path


def test_the_report_of_a_fit_says_command_file_and_digest(results):
    page = (results / "a b" / "report.html").read_text(encoding="utf-8")
    digest = hashlib.sha256((results / "rows.csv").read_bytes()).hexdigest()
    assert f"<code>{digest}</code>" in page
    assert f"<code>{__version__}</code>" in page
    assert "<code>torpca fit rows.csv --n-components 2 --out &#x27;a b&#x27; --scale</code>" in page
    assert data_of(page)["next"]["score"] == "torpca score 'a b' NEW_ROWS.csv"


def test_the_report_of_new_rows_says_the_baseline(results):
    done = CliRunner().invoke(torpca, ["report", "a b", "new.csv", "--out", "new.html"])
    assert done.exit_code == 0, done.output
    page = (results / "new.html").read_text(encoding="utf-8")
    assert "at the fit (" in page
    assert "of 200 rows)" in page
    assert "<code>torpca report &#x27;a b&#x27; new.csv --out new.html</code>" in page
