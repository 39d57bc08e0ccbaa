"""The command `lowprec convert`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..checkpoints.conversion import convert
from ..checkpoints.conversion_report import Report, ReportFile
from ..checkpoints.convert_arguments import check_no_recipe
from ..checkpoints.planning.plan_for_layout import LAYOUTS
from ..checkpoints.progress import STYLES
from ..checkpoints.recipes import find_change, find_recipe
from ..checkpoints.schemes.scale_grid import SCALE_FORMATS, parse_scale_request
from ..spec.scale_rules import SCALE_RULES
from .messages import print_result, with_options
from .shared_arguments import (
    FOLLOW_LINKS_HELP,
    FROM_HELP,
    PART_HELP,
    byte_size,
    number_format,
    rounding_keywords,
    source_format,
)  # fmt: skip

__all__ = ["add_command"]

_DESCRIPTION = """\
Convert the floating-point tensors of SRC and write DST, of the same kind: a
.safetensors, .gguf, .npy, .npz or .onnx file, or a folder with .safetensors,
with or without an index (an .npy file can become an .npz archive, a .gguf file
a .safetensors file). Integers, bools and excluded tensors are copied. --recipe
quantizes a model for inference engines. With --to bfloat16, float16 or float32,
quantized weights are dequantized with their scales. Memory does not grow with
the file. The output is written atomically.
"""

_EXAMPLES = """\
examples:
  lowprec convert model.safetensors fp8.safetensors --to float8_e4m3fn
  lowprec convert DeepSeek-V3.2/ DeepSeek-V3.2-bf16/ --to bfloat16
  lowprec convert llama/ llama-fp8/ --recipe fp8-dynamic --keep '*.o_proj'
  lowprec convert model.gguf model-q8_0.gguf --recipe q8_0
  lowprec convert llama-nvfp4/ llama-ct/ --layout compressed-tensors
  lowprec convert llama/ llama-int8/ --to int8 --scale axis:0 --exclude '*norm*' --exclude lm_head.weight
  lowprec convert model.onnx mx.onnx --to float4_e2m1fn --scale block:32 --scale-format float8_e8m0fnu
  lowprec convert model.safetensors bf16.safetensors --to bfloat16 --dry-run
  lowprec convert model.safetensors bf16.safetensors --to bfloat16 --rounding stochastic --seed 7

exit status: 0 done (though nobody may read the report), 1 failed, 2 wrong usage,
130 interrupted
"""


def _scale(text: str) -> str:
    try:
        parse_scale_request(text, SCALE_FORMATS[0])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).partition("`scale` ")[2]) from None
    return text


def _recipe(text: str) -> str:
    try:
        return text if find_change(text) else find_recipe(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).partition("`recipe` ")[2].replace("`to`", "--to")) from None


def _convert(options: argparse.Namespace) -> None:
    if options.report is None:
        _print(_report(options), options)
        return
    with ReportFile(options.report, options.src, options.dst) as file:
        report = _report(options)
        _print(report, options)
        file.write(report.as_json())


def _print(report: Report, options: argparse.Namespace) -> None:
    print_result(with_options(report.as_text(verbose=options.verbose), options))


def _report(options: argparse.Namespace) -> Report:
    given = options.scale_format is not None
    scale_format: dict[str, Any] = (
        {"scale_format": number_format(options.scale_format, "--scale-format")} if given else {}
    )
    check_no_recipe(options.to)
    return convert(
        options.src,
        options.dst,
        to=None if options.to is None else number_format(options.to, "--to"),
        recipe=options.recipe,
        layout=options.layout,
        keep=options.keep,
        also=options.also,
        source=source_format(options),
        include=options.include,
        exclude=options.exclude,
        saturate=options.saturate,
        round_mode=options.round_mode,
        opset=options.opset,
        **rounding_keywords(options),
        scale=options.scale,
        **scale_format,
        scale_rule=options.scale_rule,
        raw=options.raw,
        threads=options.threads,
        max_memory=options.max_memory,
        dry_run=options.dry_run,
        overwrite=options.overwrite,
        verify=options.verify,
        progress=options.progress,
        dask=options.dask,
        follow_links=options.follow_links,
        resume=options.resume,
        part=options.part,
    )


def add_command(commands: Any, *rules: argparse.ArgumentParser) -> None:
    """Add the command to the parser's; `rules` have the options of a cast."""
    one = commands.add_parser(
        "convert", parents=rules, help="convert a checkpoint of any size",
        description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    one.add_argument("src", metavar="SRC", type=Path)
    one.add_argument("dst", metavar="DST", type=Path)
    what = one.add_mutually_exclusive_group(required=True)
    what.add_argument("--to", metavar="FORMAT", help="a name, ONNX name or ONNX enum value")
    what.add_argument(
        "--recipe", type=_recipe, metavar="RECIPE",
        help="quantize the weights of a model for inference engines (`lowprec recipes` lists them)",
    )  # fmt: skip
    what.add_argument(
        "--layout", choices=list(LAYOUTS), help="store a quantized model as other engines name it; codes are copied"
    )
    one.add_argument("--from", dest="source", metavar="FORMAT", help=FROM_HELP)
    which = one.add_argument_group("which tensors (GLOB: a name with * and ?, or re: and a regular expression)")
    which.add_argument("--include", action="append", default=[], metavar="GLOB", help="only these (repeat for more)")
    which.add_argument("--keep", action="append", default=[], metavar="GLOB", help="--recipe: not these modules either")
    which.add_argument("--also", action="append", default=[], metavar="GLOB", help="--recipe: these modules too")
    which.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="not these (repeat for more)")
    scales = one.add_argument_group("scales (QuantizeLinear instead of Cast; of W: W_scale)")
    scales.add_argument(
        "--scale", type=_scale, default="none", metavar="none|tensor|axis:N|block:B",
        help="elements that share a scale: all, those at one index of axis N, B along the last axis (default: none)",
    )  # fmt: skip
    names = ", ".join(fmt.name for fmt in SCALE_FORMATS)
    scales.add_argument("--scale-format", metavar="FORMAT", help=f"{names} (default: float32)")
    scales.add_argument(
        "--scale-rule", choices=SCALE_RULES,
        help="float8_e8m0fnu scales: how a largest magnitude becomes a power of two (default: floor, as OCP MX has it)",
    )  # fmt: skip
    scales.add_argument(
        "--raw", action="store_true",
        help="convert codes without the scales that they come with, and to integers without --scale; leave out a "
        "quantization_config that no longer fits",
    )  # fmt: skip
    run = one.add_argument_group("how it runs")
    run.add_argument(
        "-n", "--dry-run", action="store_true", help="check everything, write nothing, print what would be done"
    )
    run.add_argument("--overwrite", action="store_true", help="replace DST atomically")
    run.add_argument(
        "--resume", action="store_true",
        help="keep the finished files of a folder if it fails or is killed, and continue with those kept before",
    )  # fmt: skip
    run.add_argument("--verify", action="store_true", help="compare the output with a second conversion")
    run.add_argument("--threads", type=int, metavar="N", help="default: the cores this process may use")
    run.add_argument("--max-memory", type=byte_size, default="256M", metavar="SIZE", help="default: %(default)s")
    run.add_argument("--follow-links", action="store_true", help=FOLLOW_LINKS_HELP)
    run.add_argument("--part", action="store_true", help=PART_HELP)
    run.add_argument("--dask", metavar="ADDRESS", help="work on a Dask cluster: tcp://host:port, or local")
    run.add_argument("--progress", choices=STYLES, default="auto", help="on standard error (default: %(default)s)")
    run.add_argument(
        "-v", "--verbose", action="store_true", help="print the report for each tensor, not by kind of layer"
    )
    run.add_argument("--report", type=Path, metavar="FILE.json", help="the report as JSON, outside of SRC and DST")
    one.set_defaults(run=_convert)
