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
  const [x0, y0] = plot.toScreen(0, 0);
  const box = plot.box();
  for (const { name, x, y } of plot.spec.arrows) {
    const [x1, y1] = plot.toScreen(x, y);
    const long = Math.hypot(x1 - x0, y1 - y0);
    if (long < 3) continue;
    const [ux, uy] = [(x1 - x0) / long, (y1 - y0) / long];
    const head = [[7, 3.2], [7, -3.2]].map(([back, side]) => `${(x1 - back * ux + side * uy).toFixed(1)} ${(y1 - back * uy - side * ux).toFixed(1)}`);
    inner.append(svg("path", { class: "arrow", d: `M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}M${head[0]}L${x1.toFixed(1)} ${y1.toFixed(1)}L${head[1]}` }));
    const text = shortened(name, plot.narrow() ? 10 : 18);
    const room = freePlace(x1, y1, textWidth(text, "600 12px"), box, taken);
    if (!room) continue;
    taken.push({ ...room.box, x0: room.box.x0 - GAP, x1: room.box.x1 + GAP });
    outer.append(svg("text", { class: "label arrow-name", x: room.x, y: room.y, "text-anchor": room.anchor }, text));
  }
}
