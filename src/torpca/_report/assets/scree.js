// Variances along the principal directions of the good rows, with the chosen rank.

function screePlot() {
  const host = document.getElementById("scree");
  const box = document.getElementById("scree-log");
  const [first, last] = [data.scree.variances[0], data.scree.variances[data.scree.variances.length - 1]];
  box.checked = first > 300 * last;
  const draw = () => drawScree(host, box.checked);
  box.addEventListener("change", draw);
  whenResized(host, draw);
}

function drawScree(host, log) {
  const { variances, plain, rank } = data.scree;
  const height = 290;
  const { made, width } = drawing(host, height);
  const edge = { left: 70, right: 12, top: 38, bottom: 44 };
  const [inX, inY] = [width - edge.left - edge.right, height - edge.top - edge.bottom];
  const shown = [...variances, ...plain].filter((v) => v > 0);
  const low = log ? Math.floor(Math.log10(Math.min(...shown))) : 0;
  const high = log ? Math.ceil(Math.log10(Math.max(...shown)) + 1e-9) : Math.max(...shown) * 1.04;
  const at = (v) => edge.top + inY * (1 - ((log ? Math.log10(Math.max(v, 10 ** low)) : v) - low) / (high - low));
  for (const tick of (log ? logTicks : roundTicks)(low, high, inY / 45)) {
    const value = log ? 10 ** tick : tick;
    made.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: at(value), y2: at(value) }));
    made.append(svg("text", { x: edge.left - 7, y: at(value) + 4, "text-anchor": "end" }, `${figures(100 * value)}%`));
  }
  const step = inX / Math.max(variances.length, plain.length, 3);
  const bottom = edge.top + inY;
  variances.forEach((v, j) => {
    const x = edge.left + j * step;
    const bar = svg("rect", { class: j < rank ? "kept" : "left", x: x + step * 0.15, y: at(v), width: step * 0.7, height: Math.max(bottom - at(v), 1) });
    bar.append(svg("title", {}, `Component ${j + 1}: ${figures(100 * v)}% of the good rows' variance`));
    made.append(bar);
  });
  plain.forEach((v, j) => {
    const dot = svg("circle", { class: "plain", cx: edge.left + (j + 0.5) * step, cy: at(v), r: 4 });
    dot.append(svg("title", {}, `Ordinary PCA, component ${j + 1}: ${figures(100 * v)}% of all rows' variance`));
    made.append(dot);
  });
  const every = Math.max(1, Math.ceil(28 / step));
  for (let j = 0; j < variances.length; j += every) {
    made.append(svg("text", { x: edge.left + (j + 0.5) * step, y: bottom + 17, "text-anchor": "middle" }, String(j + 1)));
  }
  made.append(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${bottom}H${width - edge.right}` }));
  made.append(svg("text", { class: "name", x: edge.left + inX / 2, y: height - 6, "text-anchor": "middle" }, "Principal direction"));
  writeUp(made, edge.top + inY / 2, "Share of the variance");
  const x = edge.left + rank * step;
  const kept = `${many(rank, "component")} kept`;
  const fits = x + 6 + textWidth(kept) < width;
  made.append(svg("line", { class: "limit", x1: x, x2: x, y1: edge.top - 6, y2: bottom }));
  made.append(svg("text", { class: "limit-name", x: fits ? x + 6 : x - 6, y: edge.top + 6, "text-anchor": fits ? "start" : "end" }, kept));
  screeKey(made, width);
}

function screeKey(made, width) {
  const entries = [["kept", "good rows"], ["plain", "ordinary PCA"]];
  let x = width - 210;
  for (const [kind, name] of entries) {
    made.append(kind === "plain" ? svg("circle", { class: kind, cx: x + 5, cy: 9, r: 4 }) : svg("rect", { class: kind, x, y: 4, width: 10, height: 10 }));
    made.append(svg("text", { x: x + 15, y: 13 }, name));
    x += 100;
  }
}
