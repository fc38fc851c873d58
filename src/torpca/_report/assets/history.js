// What the iterations did: how far the directions moved, and how many rows were kept.

function historyPlots() {
  const steps = data.history;
  if (steps.length < 3) {
    document.querySelector("#fit .halves").hidden = true; // two points are no curve, and the first has none before it
    return;
  }
  const charts = [
    ["change", steps.map(([, change], j) => [j + 1, change]), true],
    ["kept", steps.map(([kept], j) => [j + 1, kept]), false],
  ];
  for (const [id, points, log] of charts) {
    const host = document.getElementById(id);
    whenResized(host, () => drawCurve(host, points, log));
  }
}

function drawCurve(host, points, log) {
  const height = 200;
  const { made, width } = drawing(host, height);
  const edge = { left: 62, right: 12, top: 10, bottom: 42 };
  const [inX, inY] = [width - edge.left - edge.right, height - edge.top - edge.bottom];
  // A change of zero has no logarithm: it is drawn at the bottom.
  const least = Math.min(...points.map(([, v]) => v).filter((v) => v > 0), 1);
  const scale = (v) => (log ? Math.log10(Math.max(v, least / 10)) : v);
  const values = points.map(([, v]) => scale(v));
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  [low, high] = [low - room, high + room];
  if (!log && low < 0) low = 0;
  if (log) high = Math.min(high, Math.max(0, ...values)); // no sine is beyond 1
  const x = (j) => edge.left + inX * (points.length > 1 ? j / (points.length - 1) : 0.5);
  const y = (v) => edge.top + inY * (1 - (v - low) / (high - low));
  for (const tick of (log ? logTicks : wholeTicks)(low, high, inY / 40)) {
    made.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick) }));
    made.append(svg("text", { x: edge.left - 7, y: y(tick) + 4, "text-anchor": "end" }, log ? figures(10 ** tick) : whole(tick)));
  }
  const every = Math.max(1, Math.ceil((points.length * 26) / inX));
  const bottom = edge.top + inY;
  points.forEach(([i], j) => {
    if (j % every === 0) made.append(svg("text", { x: x(j), y: bottom + 17, "text-anchor": "middle" }, String(i)));
  });
  made.append(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${bottom}H${width - edge.right}` }));
  made.append(svg("path", { class: "curve", d: `M${values.map((v, j) => `${x(j)} ${y(v)}`).join("L")}` }));
  values.forEach((v, j) => {
    const dot = svg("circle", { class: "dot", cx: x(j), cy: y(v), r: 4 });
    dot.append(svg("title", {}, `Iteration ${points[j][0]}: ${figures(points[j][1])}`));
    made.append(dot);
  });
  made.append(svg("text", { class: "name", x: edge.left + inX / 2, y: height - 5, "text-anchor": "middle" }, "Iteration"));
}

function wholeTicks(low, high, about) {
  return roundTicks(low, high, about).filter(Number.isInteger);
}
