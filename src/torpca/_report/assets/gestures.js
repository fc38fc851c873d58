// Mouse, touch and keyboard on a plot: look, select, zoom, move.

const MODES = { point: "Point", box: "Box", move: "Move" };
// Touch scrolls the page unless something else is asked for.
const firstMode = window.matchMedia("(pointer: coarse)").matches ? "point" : "box";

function setMode(plot, mode) {
  plot.mode = mode;
  plot.host.classList.toggle("moving", mode === "move");
  plot.host.classList.toggle("freely", mode !== "point");
}

function modeButtons(holder, group) {
  for (const [mode, name] of Object.entries(MODES)) {
    const input = element("input", { type: "radio", name: `mode-${holder.dataset.modes}`, value: mode, checked: mode === firstMode });
    input.addEventListener("change", () => group.forEach((plot) => setMode(plot, mode)));
    holder.append(element("label", {}, input, name));
  }
  group.forEach((plot) => setMode(plot, firstMode));
}

function zoomButtons(name, group) {
  const actions = {
    in: (plot) => plot.zoom(1.6),
    out: (plot) => plot.zoom(1 / 1.6),
    good: (plot) => plot.goodRows(),
    home: (plot) => plot.home(),
  };
  for (const button of document.querySelectorAll(`button[data-plot="${name}"]`)) {
    button.addEventListener("click", () => group.forEach(actions[button.dataset.zoom]));
  }
}

function listen(plot) {
  listenToPointers(plot);
  listenToKeys(plot);
  plot.host.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
      event.preventDefault();
      plot.zoom(Math.exp(-event.deltaY / 300), plot.toData(...spot(plot, event)));
    },
    { passive: false },
  );
}

function spot(plot, event) {
  const { left, top } = plot.host.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

// ---- mouse, pen and fingers --------------------------------------------------------------------

function listenToPointers(plot) {
  const down = new Map(); // pointers held down, by id: where they are
  let start = null; // where the first of them went down
  let dragged = false;

  plot.host.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, spot(plot, event));
    start = down.size === 1 ? spot(plot, event) : null;
    dragged = false;
    plot.host.setPointerCapture(event.pointerId);
  });

  plot.host.addEventListener("pointermove", (event) => {
    const here = spot(plot, event);
    if (!down.has(event.pointerId)) {
      if (event.pointerType !== "touch") plot.showTip(plot.nearest(...here, 14));
      return;
    }
    const before = down.get(event.pointerId);
    if (down.size === 2) pinch(plot, down, event.pointerId, here);
    down.set(event.pointerId, here);
    if (!start || down.size > 1) return;
    dragged = dragged || Math.hypot(here[0] - start[0], here[1] - start[1]) > 5;
    if (!dragged) return;
    plot.showTip(-1);
    if (plot.mode === "move") plot.move(here[0] - before[0], here[1] - before[1]);
    if (plot.mode === "box") drawBox(plot, start, here);
  });

  plot.host.addEventListener("pointerup", (event) => {
    if (!down.delete(event.pointerId) || !start) return;
    const here = spot(plot, event);
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    if (!dragged) click(plot, here, more || event.pointerType === "touch", event.pointerType);
    else if (plot.mode === "box") selectBox(plot, start, here, more);
    plot.marks.replaceChildren();
    start = null;
  });

  plot.host.addEventListener("pointercancel", (event) => {
    down.delete(event.pointerId);
    start = null;
    plot.marks.replaceChildren();
  });
  plot.host.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") plot.showTip(-1); // a finger leaves when it is lifted
  });
  // The first click of two, where there is no row, cleared the selection: that was not meant.
  let before = null;
  plot.host.addEventListener("mousedown", (event) => {
    if (event.detail === 1) before = selection.chosen;
  });
  plot.host.addEventListener("dblclick", (event) => {
    if (selection.chosen.size === 0 && before) selection.set([...before]);
    plot.zoom(2, plot.toData(...spot(plot, event)));
  });
}

function pinch(plot, down, id, here) {
  const [other] = [...down].filter(([key]) => key !== id).map(([, at]) => at);
  const before = down.get(id);
  const spread = (a) => Math.max(Math.hypot(a[0] - other[0], a[1] - other[1]), 10);
  const middle = [(here[0] + other[0]) / 2, (here[1] + other[1]) / 2];
  plot.zoom(spread(here) / spread(before), plot.toData(...middle));
}

function corners(a, b) {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])];
}

function drawBox(plot, from, to) {
  const [left, top, right, bottom] = corners(from, to);
  plot.marks.replaceChildren(svg("rect", { class: "box", x: left, y: top, width: right - left, height: bottom - top }));
}

function selectBox(plot, from, to, more) {
  const found = plot.within(...corners(from, to));
  if (more) selection.add(found);
  else selection.set(found);
  plot.say(`${many(selection.chosen.size, "row")} selected.`);
}

function click(plot, here, more, pointer) {
  const i = plot.nearest(...here, pointer === "touch" ? 24 : 14);
  if (i >= 0 && more) selection.toggle(i);
  else if (i >= 0) selection.set([i]);
  else if (!more) selection.clear();
  plot.showTip(i);
}

// ---- keyboard ----------------------------------------------------------------------------------

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function listenToKeys(plot) {
  // The next row of a kind that is shown, or the same one if there is none.
  const step = (by) => {
    let i = selection.current + by;
    while (i >= 0 && i < rows.count && !kinds.has(i)) i += by || 1;
    return i >= 0 && i < rows.count ? i : selection.current;
  };
  const actions = {
    "+": () => plot.zoom(1.6),
    "=": () => plot.zoom(1.6),
    "-": () => plot.zoom(1 / 1.6),
    0: () => plot.home(),
    Home: () => visit(plot, 0),
    End: () => visit(plot, Math.max(rows.flagged - 1, 0)),
    Enter: () => toggle(plot),
    " ": () => toggle(plot),
    Escape: () => {
      selection.clear();
      plot.showTip(-1);
      plot.say("Nothing is selected.");
    },
  };
  let walked = false; // the first arrow shows the row that is current, the next ones go on
  plot.host.addEventListener("focus", () => (walked = false));
  plot.host.addEventListener("blur", () => plot.showTip(-1));
  plot.host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.count === 0) return;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) plot.move(-40 * arrow[0], -40 * arrow[1]);
    else if (arrow) {
      visit(plot, step(walked ? arrow[0] + arrow[1] : 0));
      walked = true;
    } else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  });
}

function visit(plot, i) {
  selection.look(i);
  plot.bring(i);
  plot.showTip(i);
  plot.say(spoken(i));
}

function toggle(plot) {
  selection.toggle(selection.current);
  plot.say(spoken(selection.current));
}
