// Loadings: a curve over many features for each component; of few features, bars beside their names.

const LOADING = { panel: 118, row: 20, top: 24 };

function loadingPlot() {
  const host = document.getElementById("loading-bars");
  if (!host) return;
  const values = data.loadings.values.map((text) => unpacked(text, Float32Array));
  data.loadings.names = data.loadings.names.map(unturned);
  whenResized(host, () => (data.loadings.d > data.loadings.many ? loadingCurves(host, values) : loadingBars(host, values)));
}

function loadingCurves(host, values) {
  const { names } = data.loadings;
  const { panel } = LOADING;
  const { made, width } = drawing(host, values.length * panel + 20);
  const [left, right] = [46, width - 8];
  values.forEach((line, c) => {
    const largest = line.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
    const middle = c * panel + panel / 2 + 6;
    const y = (v) => middle - (v / largest) * (panel / 2 - 14);
    const x = (j) => left + ((j + 0.5) / line.length) * (right - left);
    for (const v of [largest, 0, -largest]) {
      made.append(svg("line", { class: v === 0 ? "axis" : "grid", x1: left, x2: right, y1: y(v), y2: y(v) }));
      made.append(svg("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, figures(v, 2)));
    }
    made.append(svg("path", { class: "curve", d: `M${Array.from(line, (v, j) => `${x(j).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}` }));
    made.append(svg("text", { class: "label", x: left + 4, y: c * panel + 14 }, `Component ${c + 1}`));
  });
  const [first, last] = labelTexts([names[0], names[names.length - 1]], 16);
  const bottom = values.length * panel + 14;
  made.append(svg("text", { x: left, y: bottom }, first));
  made.append(svg("text", { x: right, y: bottom, "text-anchor": "end" }, last));
}

function loadingBars(host, values) {
  const { names } = data.loadings;
  const { row, top } = LOADING;
  const { made, width } = drawing(host, top + names.length * row + 6);
  const shown = values.slice(0, width < 420 ? 4 : values.length);
  const left = Math.min(Math.max(...names.map((name) => textWidth(name))) + 12, width * 0.4);
  const wide = (width - left) / shown.length;
  const room = wide > 96 ? 38 : 6; // for the number at the end of a bar
  names.forEach((name, j) => {
    const label = svg("text", { x: left - 8, y: top + j * row + 14, "text-anchor": "end" }, fitted(name, left - 10));
    label.append(svg("title", {}, name));
    made.append(label);
  });
  shown.forEach((line, c) => {
    const middle = left + (c + 0.5) * wide;
    const largest = line.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
    made.append(svg("text", { class: "value", x: middle, y: 13, "text-anchor": "middle" }, wide > 90 ? `Component ${c + 1}` : String(c + 1)));
    made.append(svg("line", { class: "axis", x1: middle, x2: middle, y1: top, y2: top + names.length * row }));
    line.forEach((v, j) => {
      const long = Math.abs(v / largest) * (wide / 2 - room);
      const bar = svg("rect", { class: v > 0 ? "up" : "down", x: v > 0 ? middle : middle - long, y: top + j * row + 3, width: Math.max(long, 0.5), height: row - 7 });
      bar.append(svg("title", {}, `${names[j]}, component ${c + 1}: ${figures(v)}`));
      made.append(bar);
      if (room > 6) made.append(svg("text", { class: "small", x: middle + (v > 0 ? long + 4 : -long - 4), y: top + j * row + 13, "text-anchor": v > 0 ? "start" : "end" }, figures(v, 2)));
    });
  });
}
