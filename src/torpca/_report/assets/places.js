// Where rows stand in their order: by number, or by time.

const places = (() => {
  const { kind, low, step, values, without } = data.order;
  if (kind === "row") return Float64Array.from(rows.number, (n) => n + 1);
  const found = Float64Array.from(unpacked(values, Uint32Array), (steps) => low + steps * step);
  for (const i of without) found[i] = NaN;
  return found;
})();

// The axis of a plot along which rows stand in their order, which is never logarithmic.
function placeAxis() {
  const label = { row: "Row number", time: "Time", number: "Time (as in the table)" }[data.order.kind];
  return { values: places, label, linear: true, least: data.order.kind === "row" ? 1 : -Infinity, times: data.order.kind === "time" };
}

// When a row was taken, in words; empty if rows are only counted.
function placeText(i) {
  if (data.order.kind === "row" || Number.isNaN(places[i])) return "";
  return data.order.kind === "time" ? fullTime(places[i]) : figures(places[i], 6);
}
