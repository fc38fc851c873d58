// Scores on two components, ours and those of ordinary PCA side by side.

// What 99.5 % of a Gaussian cloud stay within, in standard deviations: in the plane, and on a line.
const ELLIPSE = Math.sqrt(-2 * Math.log(0.005));
const LINE = 2.807;

function scorePlots() {
  const most = Math.min(rows.ours.values.length, rows.plain.values.length);
  const axes = { x: 0, y: most > 1 ? 1 : -1 };
  const both = ["ours", "plain"].map((which) => {
    const plot = new Plot(document.getElementById(which), { ...scoreSpec(which, axes), log: false, labels: 8 });
    listen(plot);
    return plot;
  });
  const change = () => both.forEach((plot, j) => plot.change(scoreSpec(["ours", "plain"][j], axes)));
  if (most > 2) axisChoices(most, axes, change);
  modeButtons(document.querySelector('[data-modes="scores"]'), both);
  zoomButtons("scores", both);
}

function scoreSpec(which, { x, y }) {
  const { values, mean, covariance } = rows[which];
  const axis = (j) => ({ values: values[j] || new Float64Array(rows.count), label: `Component ${j + 1} (${scaledWords})` });
  // A single component stands against the order of the rows, or the time.
  if (y < 0) return { x: placeAxis(), y: axis(x), levels: levels(mean[x], covariance[x]?.[x]) };
  return { x: axis(x), y: axis(y), ellipse: ellipse(mean, covariance, x, y) };
}

function levels(mean, variance) {
  return variance > 0 ? [mean - LINE * Math.sqrt(variance), mean + LINE * Math.sqrt(variance)] : [];
}

function ellipse(mean, covariance, x, y) {
  const a = covariance[x][x];
  const b = covariance[x][y];
  const c = covariance[y][y];
  if (!(a > 0) || !(c > 0)) return null;
  // Cholesky factor of the covariance of the two: it turns a circle into the ellipse.
  const l11 = Math.sqrt(a);
  const l21 = b / l11;
  const l22 = Math.sqrt(Math.max(c - l21 * l21, 0));
  return Array.from({ length: 121 }, (_, j) => {
    const u = ELLIPSE * Math.cos((j / 60) * Math.PI);
    const v = ELLIPSE * Math.sin((j / 60) * Math.PI);
    return [mean[x] + l11 * u, mean[y] + l21 * u + l22 * v];
  });
}

function axisChoices(most, axes, change, which = "score") {
  const holder = document.getElementById(`${which}-axes`);
  for (const [axis, name] of [["x", "Across"], ["y", "Up"]]) {
    const choice = element("select", { id: `${which}-${axis}` });
    for (let j = 0; j < most; j++) choice.append(element("option", { value: String(j), textContent: `Component ${j + 1}`, selected: j === axes[axis] }));
    choice.addEventListener("change", () => {
      axes[axis] = Number(choice.value);
      change();
    });
    holder.append(element("label", {}, name, choice), " ");
  }
}
