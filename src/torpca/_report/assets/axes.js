// What surrounds the points of a plot: the grid with its numbers, the names of the axes, the limits.

// The numbers along both axes, as [place, text]. Those of the upright one say how wide a margin must be.
function measureAxes(plot) {
  const { x0, x1, y0, y1 } = plot.view;
  const up = axisTicks(plot.spec.y, plot.isLog("y"), y0, y1, plot.size().inY / 55);
  plot.margin = { ...MARGIN, left: Math.max(MARGIN.left, ...up.map(([, text]) => 32 + textWidth(text))) };
  const { inX } = plot.size();
  plot.ticks = { y: up, x: axisTicks(plot.spec.x, plot.isLog("x"), x0, x1, ticksAcross(inX)) };
}

function axisTicks({ times, least = -Infinity }, log, low, high, about) {
  if (times) return timeTicks(low, high, about);
  const places = (log ? logTicks : roundTicks)(low, high, about).filter((v) => v >= least); // there is no row 0
  const texts = tickTexts(log ? places.map((v) => 10 ** v) : places);
  return places.map((v, j) => [v, texts[j]]);
}

// About how many numbers there is room for along the bottom.
function ticksAcross(room) {
  return Math.max(room / 85, Math.min(room / 45, 5));
}

// Numbers along the bottom: none runs into the one before it, or over the edge of the picture.
function writeAcross(group, ticks, place, top, edge) {
  let written = -Infinity;
  for (const [v, text] of ticks) {
    const half = textWidth(text) / 2;
    const at = Math.min(place(v), edge - half - 1);
    if (at - half < written + 4) continue;
    group.append(svg("text", { x: at, y: top, "text-anchor": "middle" }, text));
    written = at + half;
  }
}

// The name of an upright axis.
function writeUp(group, middle, text) {
  group.append(svg("text", { class: "name", x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, text));
}

function drawAxes(plot, group) {
  const { width: edge, height } = plot.size();
  const { x0, y0 } = plot.view;
  const { x, y, width, height: high } = plot.box();
  const [right, bottom] = [x + width, y + high];
  const across = (v) => plot.toScreen(v, y0)[0];
  for (const [v] of plot.ticks.x) group.append(svg("line", { class: "grid", x1: across(v), x2: across(v), y1: y, y2: bottom }));
  writeAcross(group, plot.ticks.x, across, bottom + 17, edge);
  for (const [v, text] of plot.ticks.y) {
    const [, top] = plot.toScreen(x0, v);
    group.append(svg("line", { class: "grid", x1: x, x2: right, y1: top, y2: top }));
    group.append(svg("text", { x: x - 7, y: top + 4, "text-anchor": "end" }, text));
  }
  group.append(svg("path", { class: "axis", d: `M${x} ${y}V${bottom}H${right}` }));
  group.append(svg("text", { class: "name", x: x + width / 2, y: height - 6, "text-anchor": "middle" }, axisName(plot.spec.x.label, width)));
  writeUp(group, y + high / 2, axisName(plot.spec.y.label, high));
}

// The name of an axis, without its unit where there is no room for that.
function axisName(label, room) {
  return textWidth(label, "12.5px") <= room ? label : fitted(label.replace(/ \(.*\)$/, ""), room);
}

// Dashed lines; beside those of the limits their values, whose places are then taken.
function drawLimits(plot, inner, outer, taken) {
  const { x, y, width, height } = plot.box();
  const across = (v) => plot.toScreen(v, 0)[0];
  const upright = (left) => inner.append(svg("line", { class: "limit", x1: left, x2: left, y1: y, y2: y + height }));
  const name = (left, top, text) => {
    outer.append(svg("text", { class: "limit-name", x: left, y: top }, text));
    taken.push({ x0: left, x1: left + textWidth(text), y0: top - 11, y1: top + 3 });
  };
  const [limitX, limitY] = [plot.scaledLimit("x"), plot.scaledLimit("y")];
  if (limitX !== null) {
    const text = `limit ${figures(plot.spec.x.limit)}`;
    const left = across(limitX);
    upright(left);
    // Above the plot, where no points are.
    if (left >= x && left <= x + width) name(Math.min(left - textWidth(text) / 2, x + width + MARGIN.right - textWidth(text)), y - 6, text);
  }
  if (limitY !== null) {
    const text = `limit ${figures(plot.spec.y.limit)}`;
    const [, top] = plot.toScreen(0, limitY);
    inner.append(svg("line", { class: "limit", x1: x, x2: x + width, y1: top, y2: top }));
    if (top >= y && top <= y + height) name(x + width - 4 - textWidth(text), top - 5 > y + 12 ? top - 5 : top + 14, text);
  }
  for (const v of plot.spec.levels || []) {
    const [, top] = plot.toScreen(0, v);
    inner.append(svg("line", { class: "limit", x1: x, x2: x + width, y1: top, y2: top }));
  }
  if (plot.spec.ellipse) {
    const points = plot.spec.ellipse.map(([a, b]) => plot.toScreen(a, b).map((v) => v.toFixed(1)).join(" "));
    inner.append(svg("path", { class: "ellipse", d: `M${points.join("L")}Z` }));
  }
}
