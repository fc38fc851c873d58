// Numbers as text.

// A number with three figures, or as many as are asked for; very large and small ones as powers of ten.
function figures(value, digits = 3) {
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [first, power] = value.toExponential(Math.max(digits - 2, 1)).split("e");
    return `${String(Number(first)).replace("-", "−")}e${power.replace("+", "").replace("-", "−")}`;
  }
  const rounded = Number(value.toPrecision(digits)) || 0; // not "-0"
  return rounded.toLocaleString("en", { maximumSignificantDigits: digits + 1 }).replace("-", "−");
}

// Two numbers with as many figures as their difference is worth: two of it.
function interval(low, high) {
  const width = high - low;
  const largest = Math.max(Math.abs(low), Math.abs(high));
  if (!(width > 1e-6 && width < 1e6 && largest < Math.min(1e9, 1e9 * width))) return `${figures(low)} to ${figures(high)}`;
  const digits = Math.max(0, 1 - Math.floor(Math.log10(width)));
  const said = (end) => (Number(end.toFixed(digits)) || 0).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  return `${said(low)} to ${said(high)}`;
}

// A share in per cent, as in the sentences: not rounded up to all, nor down to none.
function percent(share) {
  const value = 100 * Math.abs(share);
  let said = value.toFixed(1).replace(".0", "");
  if (value > 0 && value < 0.1) said = "less than 0.1";
  else if (value >= 99.95 && value < 100) said = "more than 99.9";
  return `${said}%`;
}

function times(multiple) {
  return Number.isFinite(multiple) ? `${figures(multiple)}\u00a0× its limit` : "beyond a limit of zero";
}

// A whole number, as in the sentences: with a comma between thousands.
function whole(n) {
  return n.toLocaleString("en");
}

function many(n, thing) {
  return `${whole(n)} ${thing}${n === 1 ? "" : "s"}`;
}
