// A scatter plot of rows: points on a canvas, and around them axes, limits and labels as SVG, so that
// these print sharply; the grid lies under the points. `spec` says what is drawn:
//   x, y: { values, label, limit (optional), linear (whatever `log` says, optional), times (optional) },
//   log, still (keeps its view whatever row is looked at, optional), ellipse (points, optional), levels (lines across, optional), arrows (optional), labels (how many rows)

const MARGIN = { left: 58, right: 14, top: 22, bottom: 44 };
const FARTHEST = 4; // times the width of the first view that zooming out leads to
const PREFERRED = 4; // pixels that a flagged row may be farther away than the nearest one

// Pictures that are out of sight are drawn when the page has opened or, as each may take tenths of a
// second with tens of thousands of rows, when they are about to be seen.
const FAST = 10000; // rows
const waiting = new Map(); // by their hosts
const watch = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) drawWaiting(target);
  },
  { rootMargin: "50% 0px" },
);

function drawLater(plot) {
  waiting.set(plot.host, plot);
  if (rows.count > FAST) watch.observe(plot.host);
  else setTimeout(() => drawWaiting(plot.host), 20);
}

function drawWaiting(host) {
  watch.unobserve(host);
  waiting.get(host)?.drawNow();
  waiting.delete(host);
}

class Plot {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.mode = "box";
    this.canvas = element("canvas", { ariaHidden: "true" });
    this.rings = element("canvas", { ariaHidden: "true" });
    this.under = svg("svg", { "aria-hidden": "true" });
    this.over = svg("svg", { "aria-hidden": "true" });
    this.marks = svg("g"); // the box that is being dragged
    this.hover = svg("g", { class: "hovered" }); // around the row that is described
    this.described = -1;
    this.margin = MARGIN;
    this.tip = element("div", { className: "tip", hidden: true });
    host.append(this.under, this.canvas, this.rings, this.over, this.tip, element("p", { className: "quiet", role: "status" }));
    this.pending = false;
    this.stale = { points: false, rings: false };
    this.home();
    whenResized(host, (anew) => this.resized(anew));
    kinds.watch(() => this.soon());
    selection.watch(({ chosen, show }) => {
      if (show && !this.spec.still) this.bring(selection.current);
      this.soon({ points: false, rings: chosen === true });
    });
  }

  // ---- where things are --------------------------------------------------------------------------

  change(spec) {
    Object.assign(this.spec, spec);
    this.home();
  }

  isLog(axis) {
    return this.spec.log && !this.spec[axis].linear;
  }

  // Coordinates as they are drawn: logarithms of them on logarithmic axes, zeros at the low end.
  scaled(axis) {
    const { values, limit } = this.spec[axis];
    if (!this.isLog(axis)) return values;
    let least = Infinity;
    for (const v of values) if (v > 0 && v < least) least = v;
    if (limit > 0) least = Math.max(Math.min(least, limit), limit * 1e-3);
    if (!Number.isFinite(least)) least = 1;
    return values.map((v) => Math.log10(Math.max(v, least)));
  }

  scaledLimit(axis) {
    const { limit } = this.spec[axis];
    if (limit === undefined || limit === null) return null;
    if (!this.isLog(axis)) return limit;
    return limit > 0 ? Math.log10(limit) : null;
  }

  home() {
    this.px = this.scaled("x");
    this.py = this.scaled("y");
    this.first = { ...this.span("x", this.px, "x0", "x1"), ...this.span("y", this.py, "y0", "y1") };
    this.view = this.first;
    this.soon();
  }

  // Makes sure that a row is in sight.
  bring(i) {
    kinds.set(rows.kind[i], true);
    if (!this.inView(i)) this.home();
  }

  span(axis, values, from, to, only = () => true) {
    let low = Infinity;
    let high = -Infinity;
    const take = (v) => {
      if (v < low) low = v;
      if (v > high) high = v;
    };
    for (let i = 0; i < values.length; i++) if (only(i)) take(values[i]);
    const limit = this.scaledLimit(axis);
    if (limit !== null) take(limit);
    for (const point of this.spec.ellipse || []) take(point[axis === "x" ? 0 : 1]);
    if (axis === "y") (this.spec.levels || []).forEach(take);
    if (!(low <= high)) [low, high] = [0, 1];
    if (this.fromZero(axis)) low = 0;
    const room = 0.06 * (high - low || Math.abs(high) || 1);
    return { [from]: this.fromZero(axis) ? 0 : low - room, [to]: high + room };
  }

  // Distances, which have limits, are not below zero.
  fromZero(axis) {
    return this.spec[axis].limit !== undefined && !this.isLog(axis);
  }

  goodRows() {
    const good = (i) => rows.kind[i] === 0;
    this.view = { ...this.span("x", this.px, "x0", "x1", good), ...this.span("y", this.py, "y0", "y1", good) };
    this.soon();
  }

  size() {
    const width = this.host.clientWidth;
    const height = this.host.clientHeight;
    return { width, height, inX: width - this.margin.left - MARGIN.right, inY: height - MARGIN.top - MARGIN.bottom };
  }

  toScreen(x, y) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    return [this.margin.left + ((x - x0) / (x1 - x0)) * inX, MARGIN.top + (1 - (y - y0) / (y1 - y0)) * inY];
  }

  toData(left, top) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    return [x0 + ((left - this.margin.left) / inX) * (x1 - x0), y0 + (1 - (top - MARGIN.top) / inY) * (y1 - y0)];
  }

  place(i) {
    return this.toScreen(this.px[i], this.py[i]);
  }

  // Whether a row is drawn: its kind is shown, and its place is in sight.
  inView(i) {
    const { x0, x1, y0, y1 } = this.view;
    return kinds.has(i) && this.px[i] >= x0 && this.px[i] <= x1 && this.py[i] >= y0 && this.py[i] <= y1;
  }

  // As narrow as a phone: fewer and shorter labels.
  narrow() {
    return this.size().inX < 340;
  }

  see(view) {
    const next = { ...view };
    for (const [axis, from, to] of [["x", "x0", "x1"], ["y", "y0", "y1"]]) {
      if (this.fromZero(axis) && next[from] < 0) [next[from], next[to]] = [0, next[to] - next[from]];
    }
    this.view = next;
    this.soon();
  }

  zoom(by, at = null) {
    const { x0, x1, y0, y1 } = this.view;
    const [x, y] = at || [(x0 + x1) / 2, (y0 + y1) / 2];
    const { first } = this;
    const factor = Math.max(by, (x1 - x0) / (FARTHEST * (first.x1 - first.x0)), (y1 - y0) / (FARTHEST * (first.y1 - first.y0)));
    const next = { x0: x + (x0 - x) / factor, x1: x + (x1 - x) / factor, y0: y + (y0 - y) / factor, y1: y + (y1 - y) / factor };
    // Not so close that neighbouring numbers can no longer be told apart.
    const fine = (low, high) => high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high));
    if (fine(next.x0, next.x1) && fine(next.y0, next.y1)) this.see(next);
  }

  move(byX, byY) {
    const { inX, inY } = this.size();
    const dx = (byX / inX) * (this.view.x1 - this.view.x0);
    const dy = (byY / inY) * (this.view.y1 - this.view.y0);
    this.see({ x0: this.view.x0 - dx, x1: this.view.x1 - dx, y0: this.view.y0 + dy, y1: this.view.y1 + dy });
  }

  // The row nearest to a place on the screen, or a flagged one that is hardly farther; -1 if none is near.
  nearest(left, top, within) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    const perX = inX / (x1 - x0);
    const perY = inY / (y1 - y0);
    const [x, y] = this.toData(left, top);
    let [best, flagged] = [-1, -1];
    let [least, leastFlagged] = [within * within, Infinity];
    for (let i = 0; i < rows.count; i++) {
      const dx = (this.px[i] - x) * perX;
      const dy = (this.py[i] - y) * perY;
      const off = dx * dx + dy * dy;
      if (off < least && this.inView(i)) {
        best = i;
        least = off;
      }
      if (i === rows.flagged - 1) [flagged, leastFlagged] = [best, least];
    }
    return flagged >= 0 && Math.sqrt(leastFlagged) <= Math.sqrt(least) + PREFERRED ? flagged : best;
  }

  within(left, top, right, bottom) {
    const [xa, ya] = this.toData(left, bottom);
    const [xb, yb] = this.toData(right, top);
    const found = [];
    for (let i = 0; i < rows.count; i++) {
      if (this.px[i] >= xa && this.px[i] <= xb && this.py[i] >= ya && this.py[i] <= yb && this.inView(i)) found.push(i);
    }
    return found;
  }

  // ---- drawing -----------------------------------------------------------------------------------

  // Points are drawn anew only if they moved, and rings if others are selected: there may be a hundred
  // thousand.
  soon({ points = true, rings = true } = {}) {
    this.stale = { points: this.stale.points || points, rings: this.stale.rings || points || rings };
    if (this.pending) return;
    this.pending = true;
    if (this.stale.points && !this.near()) drawLater(this);
    else requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    this.pending = false;
    this.draw(this.stale);
  }

  // Whether it is in sight or nearly so.
  near() {
    const { top, bottom } = this.host.getBoundingClientRect();
    return bottom > -0.5 * window.innerHeight && top < 1.5 * window.innerHeight;
  }

  // Paper and new colours do not wait; a size that it was drawn for needs nothing.
  resized(anew) {
    const { width, height } = this.size();
    if (anew) this.draw();
    else if (this.drawn !== `${width} ${height}`) this.soon();
  }

  draw({ points, rings } = { points: true, rings: true }) {
    if (this.host.clientWidth === 0) return;
    this.stale = { points: false, rings: false };
    this.drawn = `${this.size().width} ${this.size().height}`;
    if (points) measureAxes(this);
    if (points) this.drawPoints(this.sheet(this.canvas));
    if (rings) this.drawRings(this.sheet(this.rings));
    this.drawFrame();
    if (points) this.showTip(this.described);
  }

  // A clean canvas of the size of the plot, and its pen.
  sheet(canvas) {
    const { width, height } = this.size();
    const { x, y, width: inX, height: inY } = this.box();
    const sharp = Math.max(window.devicePixelRatio || 1, onPaperNow() ? 3 : 1);
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.beginPath();
    pen.rect(x, y, inX, inY);
    pen.clip();
    return { pen, sharp };
  }

  drawPoints({ pen, sharp }) {
    const style = getComputedStyle(document.documentElement);
    const signs = [0, 1, 2, 3].map((kind) => stamp(kind, style, sharp));
    const put = this.stamper(pen, 16);
    // The most extreme last, on top of the others.
    for (let i = rows.count - 1; i >= 0; i--) put(signs[rows.kind[i]], i);
  }

  drawRings({ pen, sharp }) {
    const size = selection.chosen.size > MANY_RINGS ? 12 : 24;
    const ring = ringStamp(size, getComputedStyle(document.documentElement), sharp);
    const put = this.stamper(pen, size);
    for (const i of selection.chosen) put(ring, i);
  }

  // Stamps rows that are in view. The sizes of the plot are asked for once, not for each of them.
  stamper(pen, size) {
    const { x0, x1, y0, y1 } = this.view;
    const { x: left, y: top, width, height } = this.box();
    const [perX, perY] = [width / (x1 - x0), height / (y1 - y0)];
    return (sign, i) => {
      if (!this.inView(i)) return;
      pen.drawImage(sign, left + (this.px[i] - x0) * perX - size / 2, top + (y1 - this.py[i]) * perY - size / 2, size, size);
    };
  }

  drawFrame() {
    const { width, height } = this.size();
    for (const layer of [this.under, this.over]) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const behind = svg("g");
    this.marks = svg("g");
    drawAxes(this, behind);
    const taken = []; // where no label can be
    const clip = `clip-${this.host.id}`;
    const inner = svg("g", { "clip-path": `url(#${clip})` });
    const frame = svg("clipPath", { id: clip });
    frame.append(svg("rect", this.box()));
    this.under.replaceChildren(behind);
    this.over.replaceChildren(frame, inner);
    drawLimits(this, inner, this.over, taken);
    if (this.spec.arrows) drawArrows(this, inner, this.over, taken);
    drawLabels(this, this.over, taken);
    this.drawCurrent(inner);
    this.over.append(this.hover, this.marks);
  }

  box() {
    const { inX, inY } = this.size();
    return { x: this.margin.left, y: MARGIN.top, width: Math.max(inX, 0), height: Math.max(inY, 0) };
  }

  drawCurrent(group) {
    const i = selection.current;
    if (i < 0 || !this.inView(i)) return;
    const [left, top] = this.place(i);
    group.append(svg("circle", { class: "halo", cx: left, cy: top, r: 11 }));
    group.append(svg("circle", { class: "ring", cx: left, cy: top, r: 11, "stroke-dasharray": "3 3" }));
  }

  // ---- what a row is ------------------------------------------------------------------------------

  // Describes a row beside its point; none, or one that is out of sight, ends that.
  showTip(i) {
    this.described = i >= 0 && this.inView(i) ? i : -1;
    this.tip.hidden = this.described < 0;
    this.hover.replaceChildren();
    if (this.tip.hidden) return;
    this.tip.replaceChildren(...describe(i));
    const [left, top] = this.place(i);
    for (const name of ["halo", "hover"]) this.hover.append(svg("circle", { class: name, cx: left, cy: top, r: 7 }));
    const { width, height } = this.size();
    const { offsetWidth, offsetHeight } = this.tip;
    const beside = left + 16 + offsetWidth < width ? left + 16 : Math.max(4, left - 16 - offsetWidth);
    this.tip.style.left = `${Math.min(beside, Math.max(4, width - offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(4, Math.min(top - offsetHeight / 2, height - offsetHeight - 4))}px`;
  }

  say(text) {
    this.host.querySelector("[role=status]").textContent = text;
  }
}
