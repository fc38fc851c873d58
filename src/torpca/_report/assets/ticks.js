// Round numbers for axes.

function roundTicks(low, high, about) {
  const raw = (high - low) / about;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step || 0); // not -0
  return ticks;
}

// Logarithms of round numbers: of as many as there is room for, but of three if that can be.
function logTicks(low, high, about) {
  if (high - low < 0.7) return roundTicks(10 ** low, 10 ** high, about).filter((t) => t > 0).map(Math.log10);
  const powersOfTen = [1, 2, 3, 5, 10, 20, 50, 100, 200].map((every) => powers(low, high, every, [1]));
  const choices = [powers(low, high, 1, [1, 2, 5]), powers(low, high, 1, [1, 3]), ...powersOfTen];
  const enough = choices.filter((ticks) => ticks.length >= 3);
  return enough.find((ticks) => ticks.length <= about) || enough.pop() || choices[0];
}

function powers(low, high, every, within) {
  const ticks = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const m of within) {
      const at = power + Math.log10(m);
      if (at >= low && at <= high) ticks.push(at);
    }
  }
  return ticks;
}

// The numbers as text, each with the digits that tell it from its neighbours.
function tickTexts(values) {
  return values.map((v, j) => {
    const gaps = [values[j - 1], values[j + 1]].filter((other) => other !== undefined).map((other) => Math.abs(v - other));
    if (v === 0 || gaps.length === 0) return figures(v);
    const digits = Math.floor(Math.log10(Math.abs(v))) - Math.floor(Math.log10(Math.min(...gaps)) + 1e-9) + 1;
    return figures(v, Math.max(3, Math.min(digits, 15)));
  });
}
