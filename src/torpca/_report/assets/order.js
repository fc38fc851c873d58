// Both distances against the order of the rows or the time.

function orderPlots() {
  const far = (values, limit) => limit > 0 && values.reduce((a, b) => Math.max(a, b), 0) > 12 * limit;
  const log = far(rows.score, data.limits[0]) || far(rows.orthogonal, data.limits[1]);
  const both = ["score", "orthogonal"].map((which, j) => {
    const plot = new Plot(document.getElementById(`order-${which}`), {
      x: placeAxis(),
      y: { values: rows[which], label: `${which === "score" ? "Score" : "Orthogonal"} distance`, limit: data.limits[j] },
      log,
      labels: 6,
    });
    listen(plot);
    return plot;
  });
  const box = document.getElementById("order-log");
  box.checked = log;
  box.addEventListener("change", () => both.forEach((plot) => plot.change({ log: box.checked })));
  modeButtons(document.querySelector('[data-modes="order"]'), both);
  zoomButtons("order", both);
}
