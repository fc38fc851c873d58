// The row that is looked at: what it is, the features that made it so; and the selected rows.

const BAR = 22; // height of a bar
const BARS = 8;
// The kinds of rows as the headline calls them.
const PLAINLY = ["like most rows", "merely extreme (good leverage)", "off the model (orthogonal)", "off the model and far out (bad leverage)"];

function whyPanel() {
  const body = document.getElementById("why-body");
  const draw = () => drawWhy(body, selection.current);
  selection.watch(draw);
  whenResized(body, draw);
  selectedRows();
}

function drawWhy(body, i) {
  if (i < 0) return;
  const title = element("p", { className: "who" }, sign(rows.kind[i]), "Row ", apart(shownId(i), unturned(rowId(i))));
  const what = element("p", { textContent: whatItIs(i) });
  body.replaceChildren(title, what);
  const why = reasonsOf(i);
  if (why.length > 0) {
    body.append(reasonTable(i, why));
    return;
  }
  const many = manyFeatures(i);
  if (many.length === 0) return;
  const bars = element("div", { id: "contributions", className: "chart", role: "img", ariaLabel: `Features that made row ${shownId(i)} so: ${many.slice(0, 5).map(featureText).join(", ")}` });
  body.append(element("p", { className: "legend short help" }, key("up", "too high"), key("down", "too low")), bars);
  drawBars(bars, many.slice(0, BARS));
  bars.after(saveTools(bars));
  const line = profile(i);
  if (line && data.shares.d > 30) {
    const chart = element("div", { id: "contribution-profile", className: "chart", role: "img", ariaLabel: `Shares of all ${whole(data.shares.d)} features in their order` });
    body.append(element("p", { className: "help", textContent: `All ${whole(data.shares.d)} features in their order` }), chart);
    drawProfile(chart, line);
    chart.after(saveTools(chart));
  }
  const left = 1 - many.slice(0, BARS).reduce((sum, [, share]) => sum + Math.abs(share), 0);
  if (left > 0.005) body.append(element("p", { className: "help", textContent: `Other features: ${percent(left)} of the squared distance.` }));
}

// Value and usual range of each feature that explains a row.
function reasonTable(i, why) {
  const usual = isInLine(i) ? "Usually" : "Usually, given the others";
  const cell = (kind, text) => element("td", { className: kind, textContent: text });
  const lines = why.map(({ name, value, low, high, share }) =>
    element("tr", {}, element("th", { scope: "row" }, apart(shortened(name, 40), name)), cell("number", figures(value, 4)), cell("number", interval(low, high)), cell("number", percent(share).replace("more than ", ">\u00a0"))),
  );
  const heads = ["Feature", "Value", usual, "Share"].map((text, j) => element("th", { scope: "col", className: j > 0 ? "number" : "", textContent: text }));
  const table = element("table", { className: "reasons" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
  return element("div", {}, table, element("p", { className: "help", textContent: reasonNote(i, why.length) }));
}

function reasonNote(i, count) {
  if (isInLine(i)) return "The features of this row agree with each other: it is far out, but in line with the good rows.";
  if (!isMended(i)) return "More features than these are off: the row is unusual as a whole.";
  return `With ${count === 1 ? "this value" : "these values"} replaced by what the others predict, the row would be ordinary.`;
}

function whatItIs(i) {
  const [score, orthogonal] = [relative("score", i), relative("orthogonal", i)];
  const far = `score distance ${times(score)}, orthogonal distance ${times(orthogonal)}`;
  const said = `This row is ${PLAINLY[rows.kind[i]]}: ${far}.`;
  if (rows.kind[i] === 0) return `${said} It is not flagged.`;
  if (reasonsOf(i).length > 0) return said;
  if (topFeatures(i).length === 0) return `${said} Features are listed for more extreme rows only, or this page would be too large.`;
  return data.profile ? `${said} The bars are shares of its ${score > orthogonal ? "score" : "orthogonal"} distance, squared.` : said;
}

function causeButtons() {
  const members = data.causes.map((text) => unpacked(text, Uint32Array));
  for (const button of document.querySelectorAll("button.cause")) {
    const of = members[Number(button.dataset.cause)];
    button.addEventListener("click", () => selection.set([...of], true));
  }
}

function key(kind, text) {
  const made = svg("svg", { class: "sign", viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  made.append(svg("rect", { class: kind, x: -5, y: -5, width: 10, height: 10 }));
  return element("span", {}, made, ` ${text}`);
}

function drawBars(host, list) {
  const { made, width } = drawing(host, list.length * BAR + 4);
  const names = Math.min(Math.max(...list.map(([name]) => textWidth(name))) + 12, width * 0.55);
  const largest = Math.abs(list[0][1]);
  const value = (share) => `${share > 0 ? "↑" : "↓"} ${percent(share)}`;
  // As long as they can be with their numbers beside them.
  const room = Math.min(...list.map(([, share]) => (width - names - 8 - textWidth(value(share))) / (Math.abs(share) / largest)));
  list.forEach(([name, share], j) => {
    const y = j * BAR + 3;
    const long = Math.max((Math.abs(share) / largest) * room, 1);
    const label = svg("text", { x: names - 8, y: y + 12, "text-anchor": "end" }, fitted(name, names - 8));
    label.append(svg("title", {}, name));
    made.append(label);
    made.append(svg("rect", { class: share > 0 ? "up" : "down", x: names, y, width: long, height: BAR - 7, rx: 1.5 }));
    made.append(svg("text", { class: "value", x: names + long + 5, y: y + 12 }, value(share)));
  });
}

function drawProfile(host, line) {
  const height = 150;
  const { made, width } = drawing(host, height);
  const [above, below] = [line.reduce((a, b) => Math.max(a, b), 0), line.reduce((a, b) => Math.max(a, -b), 0)];
  const per = (height - 24) / Math.max(above + below, 1); // both sides to one scale, no room wasted
  const middle = 2 + per * above;
  const thick = (width - 4) / line.length + 0.5; // no gaps between them
  made.append(svg("line", { class: "axis", x1: 2, x2: width - 2, y1: middle, y2: middle }));
  line.forEach((share, j) => {
    if (share === 0) return;
    const long = Math.abs(share) * per;
    const x = 2 + (j / line.length) * (width - 4);
    const bar = svg("rect", { class: share > 0 ? "up" : "down", x, y: share > 0 ? middle - long : middle, width: thick, height: long });
    bar.append(svg("title", {}, featureText([data.shares.pointNames[j], share / 10000])));
    made.append(bar);
  });
  const names = data.shares.pointNames;
  const [first, last] = labelTexts([names[0], names[names.length - 1]], 16);
  made.append(svg("text", { x: 2, y: height - 3 }, first));
  made.append(svg("text", { x: width - 2, y: height - 3, "text-anchor": "end" }, last));
}

// ---- the selected rows -------------------------------------------------------------------------

function selectedRows() {
  const count = document.getElementById("selected-count");
  const ids = document.getElementById("selected-ids");
  const said = document.getElementById("copy-said");
  const [copy, clear, back, on] = ["copy-ids", "clear-rows", "previous-row", "next-row"].map((id) => document.getElementById(id));
  const show = ({ chosen: changed }) => {
    said.textContent = "";
    if (!changed) return; // there may be a hundred thousand ids
    const chosen = selection.sorted();
    count.textContent = chosen.length === 0 ? "No row is selected. Select some in a picture or in the table." : `${many(chosen.length, "row")} selected.`;
    ids.value = chosen.map((i) => rowId(i).replace(/[\r\n]+/g, " ")).join("\n"); // a line for each
    copy.disabled = clear.disabled = chosen.length === 0;
  };
  // Among the selected rows if there are several, else among all; only those of kinds that are shown.
  const go = (by) => {
    const all = selection.chosen.size > 1 ? selection.sorted() : Array.from({ length: rows.count }, (_, i) => i);
    const list = all.filter((i) => kinds.has(i) || i === selection.current);
    const at = list.indexOf(selection.current);
    selection.look(list[(at + by + list.length) % list.length], true);
  };
  back.addEventListener("click", () => go(-1));
  on.addEventListener("click", () => go(1));
  clear.addEventListener("click", () => selection.clear());
  copy.addEventListener("click", async () => {
    said.textContent = (await copied(ids)) ? `Copied ${many(selection.chosen.size, "id")}.` : "Copying is not allowed here: the ids are marked, press Ctrl+C.";
  });
  selection.watch(show);
  show({ chosen: true });
}

async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}
