// The biplot: scores of the rows, and the features with the largest loadings as arrows.

function biplot() {
  const host = document.getElementById("biplot");
  if (!host) return;
  const most = Math.min(rows.ours.values.length, data.loadings.values.length);
  if (most < 2) {
    host.closest("figure").hidden = true; // the page has room for one component only
    return;
  }
  const axes = { x: 0, y: 1 };
  const spec = () => ({ ...scoreSpec("ours", axes), arrows: arrowsOn(axes) });
  const plot = new Plot(host, { ...spec(), log: false, labels: 0, still: true });
  listen(plot);
  const start = () => {
    plot.change(spec());
    plot.goodRows(); // rows far out would press the arrows into a point
  };
  if (most > 2) axisChoices(most, axes, start, "loading");
  modeButtons(document.querySelector('[data-modes="biplot"]'), [plot]);
  zoomButtons("biplot", [plot]);
  start();
}

// Arrows in the units of the plot, as long as they can be within the good rows.
function arrowsOn({ x, y }) {
  const { covariance } = rows.ours;
  const room = (j) => (2.8 * Math.sqrt(covariance[j][j])) / Math.max(...data.loadings.arrows.map(({ at }) => Math.abs(at[j])), 1e-300);
  const unit = Math.min(...[x, y].map(room));
  if (!(unit > 0) || !Number.isFinite(unit)) return [];
  return data.loadings.arrows.map(({ name, at }) => ({ name: unturned(name), x: at[x] * unit, y: at[y] * unit }));
}

function drawArrows(plot, inner, outer, taken) {
  const from = plot.toScreen(0, 0);
  const arrows = plot.spec.arrows.map(({ name, x, y }) => ({ name, to: plot.toScreen(x, y) })).filter(({ to }) => longOf(from, to) >= 3);
  for (const { to } of arrows) {
    inner.append(svg("path", { class: "arrow", d: arrowPath(from, to) }));
    taken.push(...between(...from, ...to)); // no name lies on an arrow
  }
  arrows.sort((a, b) => longOf(from, b.to) - longOf(from, a.to));
  const texts = labelTexts(arrows.map(({ name }) => name), plot.narrow() ? 10 : 18);
  arrows.forEach(({ to }, j) => {
    const text = texts[j];
    const room = freePlace(...to, textWidth(text, "600 12px"), plot.box(), taken);
    if (!room) return;
    taken.push({ ...room.box, x0: room.box.x0 - GAP, x1: room.box.x1 + GAP }, ...room.leader);
    if (room.leader.length > 0) outer.append(svg("line", { class: "leader", x1: to[0], y1: to[1], x2: room.x, y2: room.end }));
    outer.append(svg("text", { class: "label arrow-name", x: room.x, y: room.y, "text-anchor": room.anchor }, text));
  });
}

function longOf([x0, y0], [x1, y1]) {
  return Math.hypot(x1 - x0, y1 - y0);
}

function arrowPath(from, to) {
  const long = longOf(from, to);
  const [ux, uy] = [(to[0] - from[0]) / long, (to[1] - from[1]) / long];
  const [tail, tip] = [from, to].map((at) => at.map((v) => v.toFixed(1)).join(" "));
  const head = [3.2, -3.2].map((side) => `${(to[0] - 7 * ux + side * uy).toFixed(1)} ${(to[1] - 7 * uy - side * ux).toFixed(1)}`);
  return `M${tail}L${tip}M${head[0]}L${tip}L${head[1]}`;
}
