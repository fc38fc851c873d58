"""Numbers as people write them, 12,032.1, 3.1% and $49: what they are worth, and what is said."""

import numpy as np
import pytest

from tests._files import arrow_or_skip, csv
from torpca._files import TableError, read_table
from torpca._files.dressed import undressed


def worth(*cells, decimal=".", thousands=None):
    pa = arrow_or_skip()
    return undressed(pa.array(list(cells)), decimal, thousands)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("12,032.1", 12032.1),
        ("1,234", 1234.0),
        ("1,234,567", 1234567.0),
        ("-1,234.50", -1234.5),
        ("3.1%", 0.031),
        ("3.1 %", 0.031),
        ("-5%", -0.05),
        ("1,200%", 12.0),
        ("$49", 49.0),
        ("-$49.50", -49.5),
        ("$-49.50", -49.5),
        ("49 €", 49.0),
        ("49\u00a0€", 49.0),
        ("£1,234.5", 1234.5),
        (" ¥5 ", 5.0),
        ("$1e3", 1000.0),
    ],
)
def test_what_a_cell_is_worth(cell, value):
    found = worth(cell)
    assert found.fits.tolist() == [True]
    assert found.values[0] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "cell",
    [
        *("1,23", "12,34,567", "0,123", "1,2345", ",123", "1,234.5.6", "1.234,5"),
        *("-$-5", "$5€", "$5%", "%", "$", "5%%", "five", "1,234 kg", "12/5", "2024-01-02", ""),
    ],
)
def test_what_is_no_number(cell):
    found = worth(cell)
    assert not found.fits[0]
    assert np.isnan(found.values[0])


@pytest.mark.parametrize(
    ("cell", "sure"), [("1,234", False), ("1,234.5", True), ("1,234,567", True), ("$1,234", False)]
)
def test_a_comma_that_could_stand_before_decimals_is_known(cell, sure):
    assert worth(cell).grouped[0]
    assert worth(cell).sure[0] == sure


@pytest.mark.parametrize(
    ("mark", "cell"),
    [("'", "12'032.5"), ("'", "12\u2019032.5"), (" ", "12\u202f032.5"), ("_", "12_032.5")],
)
def test_other_marks_between_thousands_are_read_if_they_are_named(mark, cell):
    assert worth(cell, thousands=mark).values[0] == 12032.5
    assert not worth(cell).fits[0]


def test_each_kind_is_told_with_the_columns(tmp_path):
    path = csv(
        tmp_path,
        'mass,share,price,plain\n"12,032.1",3.1%,$49,1\n"1,234",5%,$50.5,2\n7,-1%,51,3\n',
    )
    table = read_table(path)
    np.testing.assert_allclose(
        table.X, [[12032.1, 0.031, 49, 1], [1234, 0.05, 50.5, 2], [7, -0.01, 51, 3]], rtol=1e-15
    )
    notes = " ".join(table.notes)
    assert "divided by 100 in 'share', such as '3.1%' in row 1." in notes
    assert "Currency signs were left out in 'price', such as '$49' in row 1." in notes
    assert (
        "Commas were read as thousands separators in 'mass', such as '12,032.1' in row 1." in notes
    )


def test_other_numbers_of_the_file_say_what_a_comma_is(tmp_path):
    path = csv(tmp_path, 'a,b\n"1,234",1.5\n"5,678",2.5\n')
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1234, 1.5], [5678, 2.5]])
    assert any(
        "Commas were read as thousands separators in 'a'" in note and "column 'b'" in note
        for note in table.notes
    )
    path = csv(tmp_path, 'a,b\n"1,234","1,234,567"\n"5,678",3\n')
    notes = " ".join(read_table(path).notes)
    assert "because '1,234,567' in row 1 of column 'b' can mean nothing else" in notes


def test_a_comma_that_nothing_explains_is_not_guessed(tmp_path):
    path = csv(tmp_path, "a;b\n1,234;1\n5,678;2\n")
    with pytest.raises(TableError, match=r"could be 1234 or 1\.234\. Say which: --thousands"):
        read_table(path, delimiter=";")
    thousands = read_table(path, delimiter=";", thousands=",")
    np.testing.assert_array_equal(thousands.X[:, 0], [1234, 5678])
    assert any(
        "Commas were read as thousands separators in 'a'" in note for note in thousands.notes
    )
    decimals = read_table(path, delimiter=";", decimal=",")
    np.testing.assert_array_equal(decimals.X[:, 0], [1.234, 5.678])


def test_a_comma_before_decimals_elsewhere_in_the_column_is_an_error(tmp_path):
    path = csv(tmp_path, "a;b\n1,234;1.5\n5,67;2\n")
    with pytest.raises(TableError, match=r"decimal comma, such as '5,67' in row 2"):
        read_table(path, delimiter=";")


def test_points_between_thousands_with_commas_before_decimals(tmp_path):
    path = csv(tmp_path, "a;b\n12.032,1;3,5%\n1.234;4%\n")
    table = read_table(path, delimiter=";", decimal=",")
    np.testing.assert_allclose(table.X, [[12032.1, 0.035], [1234, 0.04]], rtol=1e-15)
    assert any("Points were read as thousands separators in 'a'" in note for note in table.notes)
    path = csv(tmp_path, "a;b\n1,5;3\n2.5;4\n3,5;5\n")  # not 2.5, and not 25
    with pytest.raises(TableError, match=r"numbers, but also '2\.5' in row 2"):
        read_table(path, delimiter=";", decimal=",")


def test_what_is_missing_is_missing_with_commas_before_decimals_too(tmp_path):
    path = csv(tmp_path, "a;b\n1,5;3\n.;4\nn.d.;5\n -1,5 ;6\n")
    table = read_table(path, delimiter=";", decimal=",", missing="model")
    np.testing.assert_array_equal(table.X[:, 0], [1.5, np.nan, np.nan, -1.5])


@pytest.mark.parametrize("chunk_bytes", [16, 2**20])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n3%,1\n0.04,2\n5%,3\n", "percentages, such as '3%' in row 1, but also '0.04' in row"),
        ("a,b\n$3,1\n€4,2\n", r"amounts in \$ and €"),
        ("a,b\n$3,1\n$4,2\nfree,3\n", "numbers, but also 'free' in row 3"),
    ],
)
def test_units_that_are_mixed_are_an_error(tmp_path, text, said, chunk_bytes):
    with pytest.raises(TableError, match=said):
        read_table(csv(tmp_path, text), chunk_bytes=chunk_bytes)


@pytest.mark.parametrize("chunk_bytes", [16, 64, 2**20])
def test_the_size_of_chunks_does_not_matter(tmp_path, chunk_bytes):
    lines = [f'{i / 4},"{1000 * i:,}",{i}%,${i},' for i in range(1, 60)]
    path = csv(tmp_path, "a,b,c,d,e\n" + "\n".join([*lines, "1,2,3%,4,"]) + "\n")
    table = read_table(path, chunk_bytes=chunk_bytes)
    i = np.arange(1, 60)
    np.testing.assert_allclose(table.X[:-1], np.stack([i / 4, 1000 * i, i / 100, i], axis=1))
    np.testing.assert_allclose(table.X[-1], [1, 2, 0.03, 4])
    assert "because numbers of column 'a' have a decimal point" in " ".join(table.notes)


def test_text_with_a_few_amounts_is_text(tmp_path):
    table = read_table(csv(tmp_path, "a,b,c\n1,2,$5\n3,4,none yet\n5,6,later\n"))
    assert table.left_out == (("c", "text, such as 'none yet' in row 2"),)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"thousands": "x"}, "thousands separator 'x' is not allowed"),
        ({"thousands": ",", "decimal": ",", "delimiter": ";"}, "cannot be both"),
        ({"thousands": "."}, "cannot be both"),
    ],
)
def test_marks_that_cannot_be(tmp_path, options, said):
    with pytest.raises(TableError, match=said):
        read_table(csv(tmp_path, "a,b\n1,2\n"), **options)
