// The map of cells: rows by features, coloured by how far each cell is from what its row lets expect.

const CELL = { row: 14, narrowest: 2.5, rimmed: 7, levels: 12, missing: -32768 };

function cellMap() {
  const host = document.getElementById("cell-map");
  if (!host) return;
  const { residuals, ids, names } = data.cells;
  const cells = {
    ...data.cells,
    z: unpacked(residuals, Int16Array),
    ids: ids.map(unturned),
    names: names.map(unturned),
  };
  whenResized(host, () => drawCells(host, cells));
}

function drawCells(host, cells) {
  const m = cells.ids.length;
  const width = Math.max(host.clientWidth, 120);
  const left = Math.min(Math.max(...cells.ids.map((id) => textWidth(id))) + 12, 0.28 * width);
  const per = (width - left - 6) / cells.d; // width of a feature
  // Neighbours too narrow to be told apart share a column.
  const step = Math.max(1, Math.ceil(CELL.narrowest / (per * cells.wide)));
  const place = { left, per, step, wide: step * cells.wide, top: 4, bottom: 4 + m * CELL.row };
  const labels = columnLabels(cells, place);
  const { made } = drawing(host, place.bottom + labels.room + 24);
  drawGrid(made, cells, place);
  for (const [name, path] of cellPaths(cells, place)) {
    const [kind, level] = name.split(" ");
    made.append(svg("path", { class: kind, "fill-opacity": kind === "hole" ? 1 : Number(level) / CELL.levels, d: path }));
  }
  const right = place.left + place.per * cells.d;
  cells.groups.forEach((group, i) => {
    const y = place.top + i * CELL.row;
    if (i > 0 && group !== cells.groups[i - 1]) made.append(svg("path", { class: "rule", d: `M${left - 4} ${y}H${right}` }));
    made.append(svg("text", { class: "small", x: left - 6, y: y + 11, "text-anchor": "end" }, fitted(cells.ids[i], left - 8)));
  });
  made.append(svg("path", { class: "axis", d: `M${left} ${place.top}H${right}V${place.bottom}H${left}Z` }));
  made.append(...labels.texts);
  const shared = place.wide > 1 ? `, ${whole(place.wide)} to a column` : "";
  made.append(svg("text", { class: "name", x: (left + right) / 2, y: place.bottom + labels.room + 16, "text-anchor": "middle" }, `${many(cells.d, "feature")}${shared}`));
  cellTips(host, cells, place);
}

// How strong a colour is, from 0 for cells that are as expected to 1.
function strength(z) {
  const size = Math.abs(z);
  if (size < 2.5) return 0;
  return size < 3.5 ? 0.45 * (size - 2.5) : Math.min(1, 0.45 + (0.55 * (size - 3.5)) / 5.5);
}

// The farthest of the cells that share a column: its place among those of the page, and its residual;
// null if all are missing.
function farthest({ z, names }, { step }, row, column) {
  const start = row * names.length;
  let [best, at] = [null, column * step];
  for (let j = column * step; j < Math.min((column + 1) * step, names.length); j++) {
    if (z[start + j] === CELL.missing) continue;
    const here = z[start + j] / 100;
    if (best === null || Math.abs(here) > Math.abs(best)) [best, at] = [here, j];
  }
  return { at, z: best };
}

// One path for all cells of a colour: thousands of elements would be slow.
function cellPaths(cells, place) {
  const paths = new Map();
  const columns = Math.ceil(cells.names.length / place.step);
  cells.ids.forEach((_, row) => {
    for (let column = 0; column < columns; column++) {
      const { z } = farthest(cells, place, row, column);
      const level = z === null ? 1 : Math.round(strength(z) * CELL.levels);
      if (level === 0) continue;
      const name = z === null ? "hole" : `${z > 0 ? "up" : "down"} ${level}`;
      const [x, end] = [column, column + 1].map((j) => place.left + place.per * Math.min(j * place.wide, cells.d));
      const box = `M${x.toFixed(2)} ${place.top + row * CELL.row}H${end.toFixed(2)}v${CELL.row}H${x.toFixed(2)}Z`;
      paths.set(name, (paths.get(name) || "") + box);
    }
  });
  return paths;
}

function drawGrid(made, cells, place) {
  const right = place.left + place.per * cells.d;
  let lines = "";
  for (let i = 1; i < cells.ids.length; i++) lines += `M${place.left} ${place.top + i * CELL.row}H${right}`;
  if (place.per * place.wide >= CELL.rimmed) {
    for (let j = place.wide; j < cells.d; j += place.wide) lines += `M${place.left + place.per * j} ${place.top}V${place.bottom}`;
  }
  made.append(svg("path", { class: "grid", d: lines }));
}

// Names of columns, as many as there is room for: along the axis if they are short, else upright.
function columnLabels({ names, d }, { left, per, step, wide, bottom }) {
  const short = labelTexts(names, 16);
  const long = Math.max(...short.map((name) => textWidth(name, "11px")));
  const room = per * wide;
  const upright = long + 8 > room && (long > 60 || room >= 13);
  const every = roundUp((upright ? 13 : long + 8) / room) * step;
  const texts = [];
  for (let j = 0; j < names.length; j += every) {
    const x = left + per * Math.min(j * (wide / step) + wide / 2, d);
    if (!upright && x + long / 2 > left + per * d + 6) break; // it would be cut off
    const turn = upright ? { transform: `rotate(-90 ${x + 4} ${bottom + 6})`, "text-anchor": "end", x: x + 4, y: bottom + 6 } : { "text-anchor": "middle", x, y: bottom + 15 };
    texts.push(svg("text", { class: "small", ...turn }, short[j]));
  }
  return { texts, room: upright ? long + 10 : 20 };
}

// The next of 1, 2, 5, 10, 20, ...
function roundUp(least) {
  const tens = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((k) => k * tens).find((k) => k >= least);
}

function cellTips(host, cells, place) {
  const tip = element("div", { className: "tip", hidden: true });
  host.append(tip);
  host.onpointerleave = () => (tip.hidden = true);
  host.onpointermove = (event) => {
    const box = host.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.floor((y - place.top) / CELL.row);
    const feature = (x - place.left) / place.per;
    tip.hidden = row < 0 || row >= cells.ids.length || feature < 0 || feature >= cells.d;
    if (tip.hidden) return;
    tip.replaceChildren(...cellWords(cells, row, farthest(cells, place, row, Math.floor(feature / place.wide))));
    tip.style.left = `${Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, box.height - tip.offsetHeight - 4))}px`;
  };
}

function cellWords({ ids, names, wide, d }, row, { at, z }) {
  const others = Math.min(wide, d - at * wide) - 1;
  const where = others > 0 ? ` or one of the ${many(others, "feature")} after it` : "";
  let said = `${figures(Math.abs(z))} standard deviations too ${z > 0 ? "large" : "small"}`;
  if (z === null) said = "missing";
  else if (Math.abs(z) < 2.5) said = "as expected";
  return [element("b", {}, "Row ", apart(shortened(ids[row], 60))), element("div", {}, apart(shortened(names[at], 60)), where), element("div", { textContent: said })];
}
