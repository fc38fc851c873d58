// Values of the row that is looked at, beside what is usual for the good rows.

const FARTHEST_SHOWN = 12;

function valuesPanel() {
  const body = document.getElementById("values-body");
  if (!body) return;
  const usual = { names: data.values.names.map(unturned) };
  for (const part of ["low", "middle", "high", "unit", "values"]) usual[part] = unpacked(data.values[part], Float64Array);
  let shown = -1;
  const draw = (anew) => {
    if (selection.current === shown && !anew) return;
    shown = selection.current;
    drawValues(body, usual, shown);
  };
  selection.watch(() => draw(false));
  whenResized(body, () => draw(true));
}

function drawValues(body, usual, i) {
  if (i < 0) return;
  const who = element("p", { className: "who" }, sign(rows.kind[i]), "Row ", apart(shownId(i), unturned(rowId(i))));
  if (i >= data.values.rows) {
    const first = data.values.rows < rows.count ? ` The page holds the values of the ${whole(data.values.rows)} rows that come first, the most extreme before the others.` : "";
    body.replaceChildren(who, element("p", { textContent: `The values of this row are not on this page, or it would be too large.${first}` }));
    return;
  }
  const p = usual.names.length;
  const mine = usual.values.subarray(i * p, (i + 1) * p);
  const off = Array.from(mine, (v, j) => outside(v, usual, j));
  const beyond = off.filter((by) => by > 0).length;
  const said = element("p", { textContent: beyond > 0 ? `${whole(beyond)} of ${many(p, "value")} ${beyond === 1 ? "is" : "are"} outside of the usual range.` : `Each value by itself is in its usual range${rows.kind[i] > 1 ? "; how they go together is not usual" : ""}.` });
  const parts = [who, said];
  const chart = data.values.curve ? element("div", { id: "values-curve", className: "chart", role: "img", ariaLabel: `Values of row ${shownId(i)} over the median and the usual range of the good rows` }) : null;
  if (chart) parts.push(chart);
  const order = farthestOut(off);
  parts.push(valuesTable(usual, mine, p <= FARTHEST_SHOWN ? [...off.keys()] : order.slice(0, FARTHEST_SHOWN)));
  const spaced = data.values.curve ? ", apart from each other" : "";
  if (p > FARTHEST_SHOWN) parts.push(element("p", { className: "help", textContent: `The farthest out of ${many(p, "feature")}${spaced}.` }), allValues(usual, mine));
  body.replaceChildren(...parts);
  if (!chart) return;
  drawValueCurve(chart, usual, mine);
  chart.after(saveTools(chart));
}

// How far a value is outside of the usual range, in its widths; below zero inside of it.
function outside(v, { low, high, unit }, j) {
  if (Number.isNaN(v) || Number.isNaN(low[j])) return -Infinity;
  return Math.max(low[j] - v, v - high[j]) / unit[j];
}

// Features from the one farthest out on; on a curve neighbours say the same, and one of them will do.
function farthestOut(off) {
  const order = [...off.keys()].sort((a, b) => off[b] - off[a]);
  if (!data.values.curve) return order;
  const found = [];
  for (const j of order) if (found.length < FARTHEST_SHOWN && found.every((other) => Math.abs(other - j) >= off.length / 25)) found.push(j);
  return found;
}

function valuesTable(usual, mine, list) {
  const heads = ["Feature", "Value", "Usual", ""].map((name, j) => element("th", { scope: "col", className: j === 1 || j === 2 ? "number" : "", textContent: name }));
  const lines = list.map((j) => {
    const by = outside(mine[j], usual, j);
    const text = Number.isNaN(mine[j]) ? "missing" : figures(mine[j], 4);
    const range = Number.isNaN(usual.low[j]) ? "no value" : `${figures(usual.low[j], 4)} to ${figures(usual.high[j], 4)}`;
    return element("tr", { className: by > 0 ? "outside" : "" },
      element("th", { scope: "row" }, apart(shortened(usual.names[j], 60), usual.names[j])),
      element("td", { className: "number", textContent: by > 0 ? `${text} ${mine[j] > usual.high[j] ? "↑" : "↓"}` : text }),
      element("td", { className: "number", textContent: range }),
      element("td", {}, strip(mine[j], usual, j)));
  });
  const table = element("table", { className: "holes values" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
  return element("div", { className: "scroll", role: "region", ariaLabel: "Values and usual ranges", tabIndex: 0 }, table);
}

// The usual range as a bar in the middle, and the value as a mark, at the end if it is far out.
function strip(v, { low, high, unit }, j) {
  const made = svg("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
  made.append(svg("rect", { class: "left", x: 35, width: 30, height: 8 }));
  if (!Number.isNaN(v) && !Number.isNaN(low[j])) {
    const at = 35 + 30 * Math.max(-1.15, Math.min(2.15, high[j] > low[j] ? (v - low[j]) / (high[j] - low[j]) : 0.5 + (v - low[j]) / unit[j]));
    made.append(svg("rect", { class: outside(v, { low, high, unit }, j) > 0 ? "up" : "kept", x: at - 1.2, width: 2.4, height: 8 }));
  }
  return made;
}

// All features in their order, made when it is asked for.
function allValues(usual, mine) {
  const made = element("details", {}, element("summary", { textContent: `All ${many(mine.length, "feature")} in their order` }));
  made.addEventListener("toggle", () => {
    if (made.open && made.childElementCount === 1) made.append(valuesTable(usual, mine, [...mine.keys()]));
  });
  return made;
}

function drawValueCurve(host, usual, mine) {
  const height = 260;
  const { made, width } = drawing(host, height);
  const edge = { left: 58, right: 12, top: 26, bottom: 26 };
  const [inX, inY] = [width - edge.left - edge.right, height - edge.top - edge.bottom];
  let [low, high] = [Infinity, -Infinity];
  for (const list of [mine, usual.low, usual.high]) for (const v of list) if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
  if (!(high > low)) [low, high] = [low - 1 || 0, high + 1 || 1];
  const room = 0.04 * (high - low);
  [low, high] = [low - room, high + room];
  const p = mine.length;
  const x = (j) => (edge.left + ((j + 0.5) / p) * inX).toFixed(1);
  const y = (v) => (edge.top + inY * (1 - (v - low) / (high - low))).toFixed(1);
  const values = roundTicks(low, high, inY / 45);
  const texts = tickTexts(values);
  values.forEach((v, j) => {
    made.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(v), y2: y(v) }));
    made.append(svg("text", { x: edge.left - 7, y: Number(y(v)) + 4, "text-anchor": "end" }, texts[j]));
  });
  const known = [...usual.low.keys()].filter((j) => !Number.isNaN(usual.low[j]));
  const band = [...known.map((j) => `${x(j)} ${y(usual.high[j])}`), ...known.reverse().map((j) => `${x(j)} ${y(usual.low[j])}`)];
  if (band.length > 0) made.append(svg("path", { class: "band", d: `M${band.join("L")}Z` }));
  made.append(svg("path", { class: "median", d: curveOf(usual.middle, x, y) }));
  made.append(svg("path", { class: "mine", d: curveOf(mine, x, y) }));
  made.append(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${edge.top + inY}H${width - edge.right}` }));
  const [first, last] = labelTexts([usual.names[0], usual.names[p - 1]], 16);
  made.append(svg("text", { x: edge.left, y: height - 8 }, first));
  made.append(svg("text", { x: width - edge.right, y: height - 8, "text-anchor": "end" }, last));
  writeUp(made, edge.top + inY / 2, "Value");
  let left = edge.left;
  for (const [kind, name] of [["mine", "this row"], ["median", "median"], ["band", "usual"]]) {
    made.append(svg("path", { class: kind, d: kind === "band" ? `M${left} 5h22v10h-22Z` : `M${left} 10h22` }));
    made.append(svg("text", { x: left + 27, y: 14 }, name));
    left += 42 + textWidth(name);
  }
}

// A curve that is interrupted where a value is missing.
function curveOf(list, x, y) {
  let [path, pen] = ["", "M"];
  list.forEach((v, j) => {
    if (!Number.isFinite(v)) pen = "M";
    else {
      path += `${pen}${x(j)} ${y(v)}`;
      pen = "L";
    }
  });
  return path;
}
