"""The style sheet: light and dark, wide and narrow, print. No information is shown by colour alone."""

from __future__ import annotations

LEVELS = 10
"""The colour scale of rates has this many steps."""

_BASE = """
:root{color-scheme:light dark;--ink:#16181d;--paper:#fff;--soft:#565d6b;--line:#d5d9e0;--band:#f4f6f9;
--bad:#a3170f;--good:#0b6130;--mark:#6a1fb0;--hatch:#e9ecf1;--diff:#fff4d6}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem;max-width:90rem;color:var(--ink);background:var(--paper);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:break-word}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.2rem;margin:2rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
h2 code,h1 code{font-size:1em}
h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.25rem 0}
.soft,.facts dt{color:var(--soft)}
code,pre,.eval{font-family:ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;font-size:.85rem}
pre{margin:.5rem 0;padding:.6rem;background:var(--band);border:1px solid var(--line);border-radius:.3rem;
white-space:pre-wrap;overflow-wrap:anywhere}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}
.facts dd{margin:0}
.wide{overflow-x:auto;margin:.5rem 0}
.wide:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--mark);outline-offset:2px}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:.85rem;padding:.25rem 0}
th,td{padding:.25rem .45rem;border:1px solid var(--line);text-align:center;font-weight:normal;white-space:nowrap}
thead th{background:var(--band);font-size:.8rem;vertical-align:bottom;line-height:1.3;white-space:normal}
tbody th{text-align:left;position:sticky;left:0;background:var(--paper);max-width:22rem;min-width:11rem;
white-space:normal;overflow-wrap:break-word}
tbody th .small{display:block}
.total th,.total td{font-weight:600;border-bottom-width:2px}
.status{white-space:normal}
.now{border-left:2px solid var(--soft)}
.none{color:var(--soft);background:repeating-linear-gradient(45deg,transparent 0 5px,var(--hatch) 5px 7px)}
.m{color:var(--mark);font-weight:700}
.bad{color:var(--bad);font-weight:600}.good{color:var(--good);font-weight:600}
.small{font-size:.75rem;color:var(--soft)}
.cell .small{color:inherit}
svg{display:block}svg .rate{fill:none;stroke:currentColor;stroke-width:1.5}svg .dot{fill:currentColor}
svg .axis{stroke:var(--line);stroke-width:1}svg .change{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:2 2}
svg .gap{fill:none;stroke:var(--soft);stroke-width:1}
details{border:1px solid var(--line);border-radius:.3rem;margin:.5rem 0;padding:.4rem .7rem}
summary{cursor:pointer}
.steps{width:100%;table-layout:fixed}
.steps td,.steps thead th{text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:anywhere}
.steps .n{width:3.2rem;text-align:center}
.steps td{font-family:ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;font-size:.8rem}
.steps .other td{background:var(--diff)}
.steps .part td{border-top:3px solid var(--mark)}
.steps .nothing{color:var(--soft)}
ul{margin:.25rem 0;padding-left:1.25rem}
footer{margin-top:2rem;padding-top:.5rem;border-top:1px solid var(--line);font-size:.85rem;color:var(--soft)}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaef;--paper:#15171b;--soft:#a2a9b6;--line:#383d47;--band:#1f2228;
--bad:#ff9d90;--good:#7fdca0;--mark:#cf9bff;--hatch:#262a31;--diff:#3a3214}}
@media (max-width:48rem){body{padding:.75rem;font-size:15px}.facts{grid-template-columns:1fr;gap:0}
.facts dd{margin-bottom:.4rem}
tbody th{max-width:9rem;min-width:7rem;font-size:.85rem}tbody th .eval{font-size:.75rem}
.steps .n{width:2.2rem}.steps td{font-size:.72rem;padding:.25rem}}
@media print{.wide{overflow:visible}details{break-inside:avoid}tbody th{position:static}}
"""


def style() -> str:
    """The complete style sheet."""
    light = "".join(f".h{level}{{background:{_colour(level, 82, 60)};color:#16181d}}" for level in range(LEVELS + 1))
    dark = "".join(f".h{level}{{background:{_colour(level, 24, 48)};color:#f2f4f8}}" for level in range(LEVELS + 1))
    return _BASE.strip() + "\n" + light + f"\n@media (prefers-color-scheme:dark){{{dark}}}"


def _colour(level: int, lightness: int, saturation: int) -> str:
    """From red (all failed) through yellow to green (all passed)."""
    return f"hsl({round(8 + 132 * level / LEVELS)} {saturation}% {lightness}%)"
