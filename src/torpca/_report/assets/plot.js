// A scatter plot of rows: points on a canvas, and around them axes, limits and labels as SVG, so that
// these print sharply; the grid lies under the points. `spec` says what is drawn:
//   x, y: { values, label, limit (optional) }, log, ellipse (points, optional), labels (how many rows)

const MARGIN = { left: 58, right: 14, top: 12, bottom: 44 };

class Plot {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.mode = "box";
    this.canvas = element("canvas", { ariaHidden: "true" });
    this.rings = element("canvas", { ariaHidden: "true" });
    this.under = svg("svg", { "aria-hidden": "true" });
    this.over = svg("svg", { "aria-hidden": "true" });
    this.marks = svg("g");
    this.tip = element("div", { className: "tip", hidden: true });
    host.append(this.under, this.canvas, this.rings, this.over, this.tip, element("p", { className: "quiet", role: "status" }));
    this.pending = this.moved = false;
    this.home();
    whenResized(host, () => this.draw());
    selection.watch(() => this.soon(false));
  }

  // ---- where things are --------------------------------------------------------------------------

  change(spec) {
    Object.assign(this.spec, spec);
    this.home();
  }

  // Coordinates as they are drawn: logarithms of them on logarithmic axes, zeros at the low end.
  scaled(axis) {
    const { values, limit } = this.spec[axis];
    if (!this.spec.log) return values;
    let least = Infinity;
    for (const v of values) if (v > 0 && v < least) least = v;
    if (limit > 0) least = Math.max(Math.min(least, limit), limit * 1e-3);
    if (!Number.isFinite(least)) least = 1;
    return values.map((v) => Math.log10(Math.max(v, least)));
  }

  scaledLimit(axis) {
    const { limit } = this.spec[axis];
    if (limit === undefined || limit === null) return null;
    if (!this.spec.log) return limit;
    return limit > 0 ? Math.log10(limit) : null;
  }

  home() {
    this.px = this.scaled("x");
    this.py = this.scaled("y");
    this.view = { ...this.span("x", this.px, "x0", "x1"), ...this.span("y", this.py, "y0", "y1") };
    this.soon();
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
    if (!(low <= high)) [low, high] = [0, 1];
    const from_zero = this.spec[axis].limit !== undefined && !this.spec.log;
    if (from_zero) low = 0;
    const room = 0.06 * (high - low || Math.abs(high) || 1);
    return { [from]: from_zero ? 0 : low - room, [to]: high + room };
  }

  goodRows() {
    const good = (i) => rows.kind[i] === 0;
    this.view = { ...this.span("x", this.px, "x0", "x1", good), ...this.span("y", this.py, "y0", "y1", good) };
    this.soon();
  }

  size() {
    const width = this.host.clientWidth;
    const height = this.host.clientHeight;
    return { width, height, inX: width - MARGIN.left - MARGIN.right, inY: height - MARGIN.top - MARGIN.bottom };
  }

  toScreen(x, y) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    return [MARGIN.left + ((x - x0) / (x1 - x0)) * inX, MARGIN.top + (1 - (y - y0) / (y1 - y0)) * inY];
  }

  toData(left, top) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    return [x0 + ((left - MARGIN.left) / inX) * (x1 - x0), y0 + (1 - (top - MARGIN.top) / inY) * (y1 - y0)];
  }

  place(i) {
    return this.toScreen(this.px[i], this.py[i]);
  }

  inView(i) {
    const { x0, x1, y0, y1 } = this.view;
    return this.px[i] >= x0 && this.px[i] <= x1 && this.py[i] >= y0 && this.py[i] <= y1;
  }

  zoom(factor, at = null) {
    const { x0, x1, y0, y1 } = this.view;
    const [x, y] = at || [(x0 + x1) / 2, (y0 + y1) / 2];
    const next = { x0: x + (x0 - x) / factor, x1: x + (x1 - x) / factor, y0: y + (y0 - y) / factor, y1: y + (y1 - y) / factor };
    // Not so close that neighbouring numbers can no longer be told apart.
    const fine = (low, high) => high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high));
    if (fine(next.x0, next.x1) && fine(next.y0, next.y1)) this.view = next;
    this.soon();
  }

  move(byX, byY) {
    const { inX, inY } = this.size();
    const dx = (byX / inX) * (this.view.x1 - this.view.x0);
    const dy = (byY / inY) * (this.view.y1 - this.view.y0);
    this.view = { x0: this.view.x0 - dx, x1: this.view.x1 - dx, y0: this.view.y0 + dy, y1: this.view.y1 + dy };
    this.soon();
  }

  // The row nearest to a place on the screen, flagged ones first; -1 if none is near.
  nearest(left, top, within) {
    const { inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    const perX = inX / (x1 - x0);
    const perY = inY / (y1 - y0);
    const [x, y] = this.toData(left, top);
    let best = -1;
    let least = within * within;
    for (let i = 0; i < rows.count; i++) {
      const dx = (this.px[i] - x) * perX;
      const dy = (this.py[i] - y) * perY;
      const off = dx * dx + dy * dy;
      if (off < least && this.inView(i)) {
        best = i;
        least = off;
      }
      if (i === rows.flagged - 1 && best >= 0) return best;
    }
    return best;
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

  // Points are drawn anew only if they moved: there may be a hundred thousand.
  soon(moved = true) {
    this.moved = this.moved || moved;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw(this.moved);
    });
  }

  draw(moved = true) {
    if (this.host.clientWidth === 0) return;
    this.moved = false;
    if (moved) this.drawPoints(this.sheet(this.canvas));
    this.drawRings(this.sheet(this.rings));
    this.drawFrame();
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
    const stamps = [0, 1, 2, 3].map((kind) => stamp(kind, style, sharp));
    const { x0, x1, y0, y1 } = this.view;
    const { x: left, y: top, width, height } = this.box();
    const [perX, perY] = [width / (x1 - x0), height / (y1 - y0)];
    // The most extreme last, on top of the others.
    for (let i = rows.count - 1; i >= 0; i--) {
      if (!this.inView(i)) continue;
      const x = left + (this.px[i] - x0) * perX;
      const y = top + (y1 - this.py[i]) * perY;
      pen.drawImage(stamps[rows.kind[i]], x - 8, y - 8, 16, 16);
    }
  }

  drawRings({ pen }) {
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    pen.lineWidth = 1.75;
    for (const i of selection.chosen) {
      if (!this.inView(i)) continue;
      pen.beginPath();
      pen.arc(...this.place(i), 8, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  drawFrame() {
    const { width, height } = this.size();
    for (const layer of [this.under, this.over]) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const behind = svg("g");
    this.marks = svg("g");
    this.drawAxes(behind);
    const clip = `clip-${this.host.id}`;
    const inner = svg("g", { "clip-path": `url(#${clip})` });
    const frame = svg("clipPath", { id: clip });
    frame.append(svg("rect", this.box()));
    this.drawLimits(inner);
    this.under.replaceChildren(behind);
    this.over.replaceChildren(frame, inner);
    this.drawLabels(this.over);
    this.drawCurrent(inner);
    this.over.append(this.marks);
  }

  box() {
    const { inX, inY } = this.size();
    return { x: MARGIN.left, y: MARGIN.top, width: Math.max(inX, 0), height: Math.max(inY, 0) };
  }

  drawAxes(group) {
    const { width, height, inX, inY } = this.size();
    const { x0, x1, y0, y1 } = this.view;
    const right = MARGIN.left + inX;
    const bottom = MARGIN.top + inY;
    const ticks = this.spec.log ? logTicks : roundTicks;
    const shown = (v) => figures(this.spec.log ? 10 ** v : Math.abs(v) < 1e-12 * Math.max(Math.abs(x1), Math.abs(y1)) ? 0 : v);
    for (const v of ticks(x0, x1, inX / 85)) {
      const [left] = this.toScreen(v, y0);
      group.append(svg("line", { class: "grid", x1: left, x2: left, y1: MARGIN.top, y2: bottom }));
      group.append(svg("text", { x: left, y: bottom + 17, "text-anchor": "middle" }, shown(v)));
    }
    for (const v of ticks(y0, y1, inY / 55)) {
      const [, top] = this.toScreen(x0, v);
      group.append(svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: top, y2: top }));
      group.append(svg("text", { x: MARGIN.left - 7, y: top + 4, "text-anchor": "end" }, shown(v)));
    }
    group.append(svg("path", { class: "axis", d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` }));
    group.append(svg("text", { class: "name", x: MARGIN.left + inX / 2, y: height - 6, "text-anchor": "middle" }, this.spec.x.label));
    const middle = MARGIN.top + inY / 2;
    group.append(svg("text", { class: "name", x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, this.spec.y.label));
  }

  drawLimits(group) {
    const { x, y, width, height } = this.box();
    const limits = [this.scaledLimit("x"), this.scaledLimit("y")];
    if (limits[0] !== null) {
      const [left] = this.toScreen(limits[0], 0);
      group.append(svg("line", { class: "limit", x1: left, x2: left, y1: y, y2: y + height }));
    }
    if (limits[1] !== null) {
      const [, top] = this.toScreen(0, limits[1]);
      group.append(svg("line", { class: "limit", x1: x, x2: x + width, y1: top, y2: top }));
    }
    if (this.spec.ellipse) {
      const points = this.spec.ellipse.map(([a, b]) => this.toScreen(a, b).map((v) => v.toFixed(1)).join(" "));
      group.append(svg("path", { class: "ellipse", d: `M${points.join("L")}Z` }));
    }
  }

  // Ids beside the most extreme rows and the selected ones, where there is room.
  drawLabels(group) {
    const box = this.box();
    const taken = [];
    const wanted = new Set([...selection.sorted().slice(0, 20), ...Array(Math.min(rows.flagged > 60 ? 4 : this.spec.labels, rows.flagged)).keys()]);
    for (const i of wanted) if (this.inView(i)) taken.push(around(...this.place(i), i === selection.current ? 12 : 6));
    for (const i of wanted) {
      if (!this.inView(i)) continue;
      const [left, top] = this.place(i);
      const words = shortened(rowId(i), 18);
      const room = freePlace(left, top, textWidth(words, "600 12px"), box, taken);
      if (!room) continue;
      taken.push(room.box);
      if (room.far) group.append(svg("line", { class: "leader", x1: left, y1: top, x2: room.fromX, y2: room.fromY }));
      group.append(svg("text", { class: "label", x: room.x, y: room.y, "text-anchor": room.anchor }, words));
    }
  }

  drawCurrent(group) {
    const i = selection.current;
    if (i < 0 || !this.inView(i)) return;
    const [left, top] = this.place(i);
    group.append(svg("circle", { class: "ring", cx: left, cy: top, r: 11, "stroke-dasharray": "3 3" }));
  }

  // ---- what a row is ------------------------------------------------------------------------------

  showTip(i) {
    if (i < 0) {
      this.tip.hidden = true;
      return;
    }
    this.tip.replaceChildren(...describe(i));
    this.tip.hidden = false;
    const [left, top] = this.place(i);
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
