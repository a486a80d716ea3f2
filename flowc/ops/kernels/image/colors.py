"""Native kernels of colours: pixels of three channels, one after the other.

In: red, green and blue (or hue, saturation and value) of each pixel. Out: the same pixels in the
other colour space, or with hue and saturation changed. Invariant: the arithmetic is TensorFlow's,
in its order, in the dtype of the pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and Native.constants.
    f32: Any = None
    i64: Any = None
    UNIT: Any = None
    SIX: Any = None
    SIXTH: Any = None
    THIRD: Any = None
    TWO_THIRDS: Any = None


def rgb_to_hsv(x: Any, y: Any, begin: int, end: int) -> None:
    for pixel in range(begin, end):
        r = x[3 * pixel]
        g = x[3 * pixel + 1]
        b = x[3 * pixel + 2]
        most = g if g > b else b
        most = r if r > most else most
        least = g if g < b else b
        least = r if r < least else least
        spread = most - least
        zero = UNIT - UNIT
        hue = zero
        if spread > zero:
            sixth = (UNIT / spread) * SIXTH
            if r == most:
                hue = sixth * (g - b)
            elif g == most:
                hue = sixth * (b - r) + THIRD
            else:
                hue = sixth * (r - g) + TWO_THIRDS
        hue = hue + UNIT if hue < zero else hue
        y[3 * pixel] = hue
        y[3 * pixel + 1] = spread / most if most > zero else most * zero
        y[3 * pixel + 2] = most


def hsv_to_rgb(x: Any, y: Any, begin: int, end: int) -> None:
    zero = UNIT - UNIT
    two = UNIT + UNIT
    for pixel in range(begin, end):
        place = x[3 * pixel] * SIX
        s = x[3 * pixel + 1]
        v = x[3 * pixel + 2]
        for channel in range(3):
            # Red is highest round 0 and 6, green round 2, blue round 4.
            top = SIX - two if channel == 2 else two
            ramp = two - abs(place - top)
            ramp = abs(place - (two + UNIT)) - UNIT if channel == 0 else ramp
            ramp = zero if ramp < zero else ramp
            ramp = UNIT if ramp > UNIT else ramp
            y[3 * pixel + channel] = ((UNIT - s) + s * ramp) * v


def adjust_hue(x: Any, delta: Any, y: Any, begin: int, end: int) -> None:
    """A hue is 0 to 6: which of the six orders the channels are in, and how far the middle one lies
    between the others."""
    for pixel in range(begin, end):
        r = x[3 * pixel]
        g = x[3 * pixel + 1]
        b = x[3 * pixel + 2]
        most = g if g > b else b
        most = r if r > most else most
        least = g if g < b else b
        least = r if r < least else least
        if r < g:
            order = 1 if b < r else (3 if b > g else 2)
        else:
            order = 0 if b < g else (4 if b > r else 5)
        middle = r if order == 1 or order == 4 else (g if order == 0 or order == 3 else b)
        hue = f32(0)
        if most != least:
            ratio = (middle - least) / (most - least)
            hue = f32(order) + (ratio if order % 2 == 0 else f32(1) - ratio)
        hue = hue + delta[0] * f32(6)
        # Turns back into one round; a hue that is no number stays none.
        if not (hue < f32(12) and hue > f32(-6)):
            hue = hue - f32(6) * f32(i64(hue / f32(6))) if abs(hue) < f32(1e7) else f32(0)
        hue = hue + f32(6) if hue < f32(0) else hue
        hue = hue - f32(6) if hue >= f32(6) else hue
        order = i64(hue)
        ratio = hue - f32(order)
        ratio = ratio if order % 2 == 0 else f32(1) - ratio
        middle = least + ratio * (most - least)
        top = 0 if order < 1 or order > 4 else (1 if order < 3 else 2)
        low = 2 if order < 2 else (0 if order < 4 else 1)
        for channel in range(3):
            value = most if channel == top else (least if channel == low else middle)
            y[3 * pixel + channel] = value


def adjust_saturation(x: Any, scale: Any, y: Any, begin: int, end: int) -> None:
    for pixel in range(begin, end):
        r = x[3 * pixel]
        g = x[3 * pixel + 1]
        b = x[3 * pixel + 2]
        v = g if g > b else b
        v = r if r > v else v
        least = g if g < b else b
        least = r if r < least else least
        spread = v - least
        s = spread / v if v > f32(0) else f32(0)
        hue = f32(0)
        if spread > f32(0):
            sixth = f32(1) / (f32(6) * spread)
            if r == v:
                hue = sixth * (g - b)
            elif g == v:
                hue = sixth * (b - r) + f32(2.0 / 6.0)
            else:
                hue = sixth * (r - g) + f32(4.0 / 6.0)
        hue = hue + f32(1) if hue < f32(0) else hue
        s = s * scale[0]
        s = f32(0) if s < f32(0) else s
        s = f32(1) if s > f32(1) else s
        chroma = s * v
        place = hue * f32(6)
        order = i64(place)
        within = place - f32(2 * (order // 2))
        second = chroma * (f32(1) - abs(within - f32(1)))
        base = v - chroma
        top = 0 if order < 1 or order > 4 else (1 if order < 3 else 2)
        low = 2 if order < 2 else (0 if order < 4 else 1)
        for channel in range(3):
            value = chroma if channel == top else (f32(0) if channel == low else second)
            value = f32(0) if order > 5 else value
            y[3 * pixel + channel] = value + base
