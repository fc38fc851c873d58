// Numbers as text, and round numbers for axes.

function figures(value) {
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = value.toExponential(1).split("e");
    return `${digits.replace(".0", "").replace("-", "−")}e${power.replace("+", "").replace("-", "−")}`;
  }
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
}

function percent(share) {
  const size = 100 * Math.abs(share);
  return size >= 10 ? `${Math.round(size)}\u00a0%` : `${Number(size.toPrecision(size >= 1 ? 2 : 1))}\u00a0%`;
}

function times(multiple) {
  return Number.isFinite(multiple) ? `${figures(multiple)}\u00a0× its limit` : "beyond a limit of zero";
}

function many(n, thing) {
  return `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;
}

function roundTicks(low, high, about) {
  const raw = (high - low) / about;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

// Between two powers of ten: these powers, or 1, 2 and 5 times them where there is room.
function logTicks(low, high, about) {
  if (high - low < 0.7) return roundTicks(10 ** low, 10 ** high, about).filter((t) => t > 0).map(Math.log10);
  const every = Math.max(1, Math.ceil((high - low) / about));
  const within = high - low < about / 2.5 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const m of within) {
      const at = power + Math.log10(m);
      if (at >= low && at <= high) ticks.push(at);
    }
  }
  return ticks;
}
