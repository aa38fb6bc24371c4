import numpy as np
import pytest

from pliant.viewing.film import save_film


def frames():
    return [np.full((48, 65, 3), 20 * k, np.uint8) for k in range(10)]


@pytest.mark.parametrize(("name", "mark"), [("film.webp", b"WEBP"), ("film.mp4", b"ftyp")])
def test_a_film_is_of_the_format_its_name_asks_for(tmp_path, name, mark):
    pytest.importorskip("PIL" if name.endswith("webp") else "imageio_ffmpeg")
    path = save_film(tmp_path / "films" / name, frames(), 50.0)
    assert mark in path.read_bytes()[:16]
    assert [p.name for p in path.parent.iterdir()] == [name]
