"""The pages Compare, Cast & BitCast and Quantize without a browser: controls, bad input, and files."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from support.explorer_pages import asked, charts, copied, healthy, page, pictures, sent, texts

from lowprec.explorer.pages.compare.view import COMPARABLE
from lowprec.explorer.pages.conversion.packing_view import PACKABLE
from lowprec.explorer.pages.conversion.view import CASTABLE
from lowprec.explorer.pages.quantize.settings import GRANULARITIES, SCALE_FORMATS, TARGETS
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS
from lowprec.explorer.shared.link import write

ODD = ["", "seven", "<script>alert(1)</script>", "![x](http://example.com/x.png)", "`$x$`", "1/0", "--1"]


def metrics(test):
    return {metric.label: metric.value for metric in test.metric}


def by_label(elements, label):
    return next(element for element in elements if element.label == label)


def test_compare_follows_its_controls():
    test = healthy(page("compare", "casts"))
    assert "0x2A" in texts(test)
    healthy(test.text_input[0].set_value("1000").run())
    assert asked(test, "x") == "1000"
    assert "with saturate: the largest value" in texts(test)
    healthy(test.toggle[0].set_value(False).run())
    assert "without saturate: NaN" in texts(test)
    healthy(test.multiselect[0].set_value(["int8", "float8_e8m0fnu"]).run())
    assert "0xE8" in texts(test)  # 1000 modulo 256
    assert "0x89" in texts(test)  # 2**10
    healthy(by_label(test.selectbox, "round_mode").set_value("down").run())
    assert "0x88" in texts(test)
    assert asked(test, "round_mode") == "down"


def test_compare_shows_every_format():
    names = [fmt.name for fmt in COMPARABLE]
    for some in (names[:11], names[11:22], names[22:]):
        test = healthy(page("compare", "facts", "casts", fmts=",".join(some), x="-17/23"))
        assert all(f"fmt={name}&amp;" in texts(test) for name in some)
        ranges, held = (one["drawings"][0]["svg"] for one in sent(test, "picture"))
        assert all(f'data-sort="fmts={name}"' in ranges for name in some)
        assert held.count('data-set="pair=') == len(some) * (len(some) - 1)


def test_compare_tells_what_an_opset_lacks():
    test = healthy(page("compare", "casts", opset="19", fmts="float4_e2m1fn,float16"))
    assert "since opset 23" in texts(test)


@pytest.mark.parametrize("number", ["0", "-0", "inf", "-nan", "1e9999", "1e-9999", "0x1p-1074", "9" * 1000])
def test_compare_takes_any_number(number):
    healthy(page("compare", "facts", "casts", x=number))


@pytest.mark.parametrize("odd", ODD)
def test_odd_texts_give_a_message_and_the_default(odd):
    for name, query in (("compare", {"x": odd}), ("conversion", {"at": odd}), ("conversion", {"codes": odd}),
                        ("quantize", {"x": odd, "origin": "typed"})):  # fmt: skip
        test = page(name, **query)
        assert not test.exception
        assert "<script>" not in texts(test)
        assert len(test.error) == 1
        assert "![x](" not in test.error[0].value  # escaped: it draws no picture, and asks no other host


@pytest.mark.parametrize("source", CASTABLE, ids=lambda fmt: fmt.name)
def test_conversion_of_every_format(source):
    target = CASTABLE[CASTABLE.index(source) - 1].name
    healthy(page("conversion", source=source.name, target=target, at="-1/3"))


def test_conversion_follows_its_controls():
    test = healthy(page("conversion", at="0x7F800000"))
    assert "infinite with saturate: the largest value" in texts(test)
    healthy(test.toggle[0].set_value(False).run())
    assert "infinite without saturate: NaN" in texts(test)
    healthy(by_label(test.selectbox, "To").set_value("int32").run())
    assert "NaN and Inf become 0" in texts(test)
    assert "2139095040" in texts(test)  # what BitCast reads
    healthy(test.text_input[1].set_value("0x1 0xF").run())
    healthy(by_label(test.selectbox, "Format").set_value("int2").run())
    assert asked(test, "codes") == "0x1 0x2 0x3 0x0 0x2"  # no 0xF has two bits
    healthy(test.text_input[1].set_value("1 -2 -1 0 1").run())
    assert "byte 0 = 0x39" in pictures(test)  # 00 11 10 01
    assert "byte 1 = 0x01" in pictures(test)
    assert any("last 6 bits" in caption.value for caption in test.caption)


def test_conversion_says_why_bitcast_cannot():
    first = texts(page("conversion"))
    assert "must be 32 bits wide" in first
    assert first.index('aria-label="Readings"') < first.index("must be 32 bits wide")  # what it can do comes first
    six = {"source": "float6_e2m3fn", "at": "0x3"}
    assert "no float6" in texts(page("conversion", target="float6_e3m2fn", **six))
    assert "no version of BitCast has" in texts(page("conversion", target="uint8", **six))
    assert "from 26 to 28" in texts(page("conversion", opset="24", target="int32"))


def test_conversion_at_an_opset_without_the_type():
    test = page("conversion", opset="19", target="float4_e2m1fn")
    assert not test.exception
    assert "since opset 23" in test.error[0].value.replace("\\", "")


@pytest.mark.parametrize("fmt", PACKABLE, ids=lambda fmt: fmt.name)
def test_packing_of_every_format(fmt):
    healthy(page("conversion", packed=fmt.name, codes="1 0x1, 0 1"))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("index", range(len(TARGETS)), ids=lambda index: TARGETS[index].name)
def test_quantize_to_every_format(index):
    options = {"scale": SCALE_FORMATS[index % 4].name, "per": GRANULARITIES[index % 3], "zero_point": "1"}
    test = healthy(page("quantize", show="result", origin="sampled", fmt=TARGETS[index].name, **options))
    assert len(charts(test)) == 2
    assert metrics(test)["SQNR"].endswith("dB")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_quantize_samples_every_distribution(distribution):
    healthy(
        page(
            "quantize",
            show="result",
            origin="sampled",
            distribution=distribution,
            rows="3",
            columns="5",
            seed="9",
            spread="0.001",
        )
    )


def test_quantize_follows_its_controls():
    test = healthy(page("quantize", show="result", origin="sampled"))
    first = metrics(test)
    assert first["bits per value"] == "5"
    healthy(test.slider[0].set_value(16).run())
    assert asked(test, "block") == "16"
    assert metrics(test)["bits per value"] == "6"
    healthy(by_label(test.selectbox, "Format of the scales").set_value("float8_e8m0fnu").run())
    assert metrics(test)["bits per value"] == "4.5"
    healthy(by_label(test.selectbox, "Format").set_value("int8").run())
    assert metrics(test)["SQNR"] != first["SQNR"]
    healthy(by_label(test.number_input, "Rows").set_value(2).run())
    assert asked(test, "rows") == "2"
    assert any("(2, 64)" in caption.value for caption in test.caption)


def test_quantize_takes_typed_numbers():
    numbers = {"origin": "typed", "fmt": "int4", "per": "tensor"}
    test = healthy(page("quantize", show="result", x="7 -3.4; nan inf", **numbers))
    assert metrics(test)["NaN or Inf"] == "2"
    assert "0xD" in texts(test)  # -3
    healthy(test.text_area[0].set_value("7 0.6").run())
    assert "NaN or Inf" not in metrics(test)
    assert metrics(test)["largest |error|"].startswith("≈0.4")
    nothing = healthy(page("quantize", show="result", x="0 0", **numbers))
    assert metrics(nothing)["SQNR"] == "–"


def test_quantize_tells_what_does_not_fit():
    cases = (
        ({"axis": "5"}, "axis", "axis=-1"),
        ({"opset": "25", "fmt": "float6_e2m3fn"}, "28", "opset=28"),
        ({"opset": "23", "scale": "float8_e8m0fnu"}, "24", "opset=28"),
    )
    for query, said, kept in cases:
        test = page("quantize", show="result", origin="sampled", **query)
        assert not test.exception
        assert len(test.error) == 1
        assert said in test.error[0].value
        assert kept in copied(test)[0]
        assert "per=block" in copied(test)[0]
        assert metrics(test)["SQNR"].endswith("dB")
        assert metrics(test)["bits per value"] != "≈4.0"
        assert "block_size=32" in copied(test)[1]  # what the controls say is what is shown


def test_the_ends_of_what_can_be_typed():
    """Those of a link: test_explorer_limits.py."""
    test = healthy(page("quantize", show="result", origin="sampled"))
    ends = {box.label: (box.min, box.max) for box in test.number_input}
    assert ends == {"Rows": (1, 256), "Columns": (1, 256), "Scale factor": (1e-30, 1e30), "Seed": (0, 9999)}
    assert (
        by_label(healthy(page("quantize", show="result", origin="typed")).text_area, "Numbers").proto.max_chars == 3000
    )


@pytest.mark.parametrize("name", ["anatomy", "rounding", "compare", "conversion", "describe", "errors"])
def test_the_longest_texts_that_can_be_typed(name):
    boxes = healthy(page(name)).text_input
    assert boxes
    assert {box.proto.max_chars for box in boxes} == {1000}


@pytest.mark.parametrize(("name", "label"), [("compare", "Formats"), ("errors", "Formats"), ("saturation", "Formats ")])
def test_names_of_formats_can_be_typed(name, label):
    boxes = [box for box in page(name).multiselect if box.label.startswith(label)]
    assert [box.proto.accept_new_options for box in boxes] == [True]


def test_the_names_of_roundings():
    box = by_label(healthy(page("rounding")).selectbox, "Rounding")
    assert box.options[:2] == ["ONNX (Cast)", "nearest_even"]
    assert box.options.count("ONNX (Cast)") == 1


def test_quantize_shows_the_first_rows():
    """64 scales, one to 32 of 32 x 64 elements: of both tables the first 24 rows."""
    test = healthy(page("quantize", show="result", origin="sampled", fmt="float8_e4m3fn"))
    assert {"24 of 64", "24 of 2048"} <= {caption.value for caption in test.caption}
    (bars,) = re.findall(r'"labelExpr": ?"(.*?)\[datum', charts(test)[0])
    assert "≈0.00195" in json.loads(json.loads(f'"{bars}"'))  # 2^-9 in three digits
    assert "no error" not in texts(test)
    assert "No element has an error." not in [caption.value for caption in test.caption]
    assert (page_colours(test) & {"#6d28d9", "#b79cff"}) == {"#6d28d9"}  # the light scheme's accent


def page_colours(test):
    return set(re.findall("#[0-9a-f]{6}", "".join(charts(test))))


def test_one_dimension_has_blocks_too():
    test = healthy(page("quantize", show="result", origin="typed", x="1 2 3 4", fmt="int8", block="2"))
    assert asked_or_default(test, "axis") == "-1"
    assert metrics(test)["bits per value"] == "24"  # 8 + 2 * 32 / 4
    assert "block_size=2" in copied(test)[1]
    exec(copied(test)[1], {})


def asked_or_default(test, part):
    return asked(test, part) if part in test.query_params else write(Quantize())[part]


def test_no_error_is_one_colour():
    test = healthy(
        page("quantize", show="result", origin="typed", x="1 2; 4 -1", fmt="int8", per="tensor", scale="float8_e8m0fnu")
    )
    assert metrics(test)["SQNR"] == "no error"
    colour = json.loads(charts(test)[1])["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domainMin"] == 0
    assert colour["scale"]["domainMax"] == 1  # else 0 lies in the middle of a domain from 0 to 0
    assert any(caption.value == "No element has an error." for caption in test.caption)
    other = json.loads(charts(healthy(page("quantize", show="result", origin="sampled")))[1])["layer"][0]["encoding"][
        "color"
    ]
    assert "domainMax" not in other["scale"]


def test_quantize_waits_for_a_file_and_reads_it():
    test = healthy(page("quantize", show="result", origin="file", per="axis", axis="0"))
    assert "Choose a file" in test.info[0].value
    stream = io.BytesIO()
    np.save(stream, np.arange(12.0).reshape(3, 4))
    test.file_uploader[0].set_value(("w.npy", stream.getvalue(), "application/octet-stream"))
    healthy(test.run())
    assert any("(3, 4); float64 became float32" in caption.value for caption in test.caption)
    test.file_uploader[0].set_value(None)
    assert "Choose a file" in healthy(test.run()).info[0].value
    test.file_uploader[0].set_value(("w.npy", stream.getvalue()[:-1], "application/octet-stream"))
    test.run()
    assert not test.exception
    assert "it has 95" in test.error[0].value
    assert not test.metric  # nothing is shown, and nothing offered, for a file that was not read
    assert not test.code
    assert not charts(test)


def test_quantize_lets_choose_a_tensor():
    save = pytest.importorskip("safetensors.numpy").save
    content = save({"a": np.ones((2, 3), np.float32), "b": np.ones((7,), np.float16)})
    test = page("quantize", show="result", origin="file", per="tensor")
    test.file_uploader[0].set_value(("w.safetensors", content, "application/octet-stream"))
    healthy(test.run())
    assert any("(2, 3)" in caption.value for caption in test.caption)
    healthy(by_label(test.selectbox, "Tensor").set_value("b").run())
    assert asked(test, "tensor") == "b"
    assert any("float16 of shape (7,)" in caption.value for caption in test.caption)
    test.query_params["tensor"] = "z"  # of another file
    test.run()
    assert "one of the file's 2 names" in test.error[0].value.replace("\\", "")
    assert any("(2, 3)" in caption.value for caption in test.caption)
    assert by_label(test.selectbox, "Tensor").value == "a"
    test.query_params["tensor"] = ""
    content = save({"a": np.ones((4, 5), np.float32)})
    test.file_uploader[0].set_value(("w.safetensors", content, "application/octet-stream"))
    healthy(test.run())
    assert any("(4, 5)" in caption.value for caption in test.caption)
    assert "Tensor" not in [box.label for box in test.selectbox]
