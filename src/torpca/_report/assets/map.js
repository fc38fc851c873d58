// The outlier map.

function outlierMap() {
  // Logarithmic axes where the farthest rows would otherwise press all others into a corner.
  const far = (values, limit) => limit > 0 && values.reduce((a, b) => Math.max(a, b), 0) > 12 * limit;
  const log = far(rows.score, data.limits[0]) || far(rows.orthogonal, data.limits[1]);
  const plot = new Plot(document.getElementById("map"), {
    x: { values: rows.score, label: "Score distance (standard deviations)", limit: data.limits[0] },
    y: { values: rows.orthogonal, label: `Orthogonal distance (${scaledWords})`, limit: data.limits[1] },
    log,
    labels: 16,
  });
  const box = document.getElementById("map-log");
  box.checked = log;
  box.addEventListener("change", () => plot.change({ log: box.checked }));
  modeButtons(document.querySelector('[data-modes="map"]'), [plot]);
  zoomButtons("map", [plot]);
  listen(plot);
}
