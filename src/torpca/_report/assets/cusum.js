// The CUSUM of both distances over the rows in their order, with its decision limit.

function cusumPlot() {
  const host = document.getElementById("cusum");
  if (!host) return;
  const curves = Object.entries(data.order.cusum).map(([which, { x, y }]) => ({ which, x: unpacked(x, Float64Array), y: unpacked(y, Float32Array) }));
  whenResized(host, () => drawCusum(host, curves));
}

function drawCusum(host, curves) {
  const height = 230;
  const { made, width } = drawing(host, height);
  const edge = { left: 58, right: 14, top: 26, bottom: 44 };
  const [inX, inY] = [width - edge.left - edge.right, height - edge.top - edge.bottom];
  const h = data.order.decision;
  const top = Math.max(h, ...curves.map(({ y }) => y.reduce((a, b) => Math.max(a, b), 0))) * 1.06;
  const all = curves[0].x;
  const room = 0.06 * (all[all.length - 1] - all[0] || 1);
  const [low, high] = [all[0] - room, all[all.length - 1] + room];
  const x = (v) => edge.left + ((v - low) / (high - low)) * inX;
  const y = (v) => edge.top + inY * (1 - v / top);
  const bottom = edge.top + inY;
  for (const tick of roundTicks(0, top, inY / 40)) {
    made.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick) }));
    made.append(svg("text", { x: edge.left - 7, y: y(tick) + 4, "text-anchor": "end" }, figures(tick)));
  }
  const axis = placeAxis();
  writeAcross(made, axisTicks(axis, false, low, high, ticksAcross(inX)), x, bottom + 17, width);
  writeUp(made, edge.top + inY / 2, axisName("CUSUM (standard deviations)", inY));
  made.append(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${bottom}H${width - edge.right}` }));
  curves.forEach((curve, j) => {
    const points = Array.from(curve.x, (v, i) => `${x(v).toFixed(1)} ${y(curve.y[i]).toFixed(1)}`);
    made.append(svg("path", { class: j ? "curve second" : "curve", d: `M${points.join("L")}` }));
  });
  made.append(svg("line", { class: "limit", x1: edge.left, x2: width - edge.right, y1: y(h), y2: y(h) }));
  made.append(svg("text", { class: "limit-name", x: width - edge.right - 4, y: y(h) - 5, "text-anchor": "end" }, `decision limit ${figures(h)}`));
  made.append(svg("text", { class: "name", x: edge.left + inX / 2, y: height - 6, "text-anchor": "middle" }, axis.label));
  let left = edge.left;
  curves.forEach(({ which }, j) => {
    const name = `${which} distance`;
    made.append(svg("path", { class: j ? "curve second" : "curve", d: `M${left} 10h20` }));
    made.append(svg("text", { x: left + 24, y: 14 }, name));
    left += 36 + textWidth(name);
  });
}
