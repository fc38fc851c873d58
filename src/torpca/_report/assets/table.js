// The flagged rows: search, sort, select, a page at a time.

const PER_PAGE = 25;

function flaggedTable() {
  if (rows.flagged === 0) {
    for (const part of document.querySelectorAll("#rows > :not(h2, h2 + p)")) part.hidden = true;
    return;
  }
  if (!plainBits) document.querySelector("th.plain-flag").remove();
  const search = document.getElementById("search");
  const filter = document.getElementById("kind-filter");
  const state = { found: [], page: 0, by: "extreme", down: false };
  filter.append(element("option", { value: "", textContent: "all" }));
  data.kinds.slice(1).forEach((kind, j) => filter.append(element("option", { value: String(j + 1), textContent: kind })));

  const show = () => showPage(state);
  const find = () => {
    state.found = sortRows(findRows(search.value, filter.value), state);
    state.page = 0;
    show();
  };
  const turn = (by) => {
    state.page += by;
    show();
  };
  search.addEventListener("input", find);
  filter.addEventListener("change", find);
  document.getElementById("page-back").addEventListener("click", () => turn(-1));
  document.getElementById("page-on").addEventListener("click", () => turn(1));
  document.getElementById("select-found").addEventListener("click", () => selection.set(state.found));
  for (const head of document.querySelectorAll("#table th[data-sort]")) {
    head.querySelector("button").addEventListener("click", () => {
      sortBy(state, head);
      find();
    });
  }
  selection.watch(() => markChosen());
  find();
}

// ---- which rows, in which order ----------------------------------------------------------------

function findRows(text, kind) {
  const wanted = text.trim().toLowerCase();
  // Names are looked through once, not again for each row.
  const names = new Set(data.names.filter((name) => wanted && name.toLowerCase().includes(wanted)));
  const inside = (i) => names.size > 0 && mainFeatures(i).some(([name]) => names.has(name));
  // A band is called by its ends, and looked for by what lies between them as well: by a whole name, or
  // all of a number in it, as each digit is in many.
  const wholly = (name) => name === wanted || name.split(/\s+/).includes(wanted);
  const points = [...data.shares.pointNames.keys()].filter((j) => wanted && wholly(data.shares.pointNames[j].toLowerCase()));
  const hasFeature = (i) => inside(i) || inMainBand(i, points);
  const found = [];
  for (let i = 0; i < rows.flagged; i++) {
    if (kind && rows.kind[i] !== Number(kind)) continue;
    if (!wanted || rowId(i).toLowerCase().includes(wanted) || hasFeature(i)) found.push(i);
  }
  return found;
}

// Whether one of these points lies in a band that is a main cause of a row.
function inMainBand(i, points) {
  if (points.length === 0) return false;
  return mainFeatures(i).some(([name]) => {
    const [first, last] = name.split(" to ").map((end) => data.shares.pointNames.indexOf(end));
    if (last === undefined) return false; // a single feature, which has its name
    // Of very many features some have no point of their own.
    return first < 0 || last < 0 ? strongAt(i, points) : points.some((j) => j >= first && j <= last);
  });
}

// Whether one of these points of a row's profile is no small part of it.
function strongAt(i, points) {
  const here = points.length > 0 ? profile(i) : null;
  if (!here) return false;
  const highest = here.reduce((most, share) => Math.max(most, Math.abs(share)), 0);
  return points.some((j) => here[j] !== 0 && 4 * Math.abs(here[j]) >= highest);
}

function sortRows(found, { by, down }) {
  if (by === "extreme") return found;
  const natural = new Intl.Collator("en", { numeric: true });
  const compare = {
    id: (a, b) => natural.compare(rowId(a), rowId(b)),
    kind: (a, b) => rows.kind[a] - rows.kind[b],
    score: (a, b) => rows.score[a] - rows.score[b],
    orthogonal: (a, b) => rows.orthogonal[a] - rows.orthogonal[b],
    plain: (a, b) => plainFlags(a) - plainFlags(b),
  }[by];
  return found.sort((a, b) => (down ? -compare(a, b) : compare(a, b)) || a - b);
}

// Once sorts the way that is of use first, twice the other way, three times as it was.
function sortBy(state, head) {
  const by = head.dataset.sort;
  const first = by === "score" || by === "orthogonal" || by === "kind" || by === "plain"; // the largest first
  if (state.by !== by) Object.assign(state, { by, down: first });
  else if (state.down === first) state.down = !first;
  else Object.assign(state, { by: "extreme", down: false });
  for (const other of document.querySelectorAll("#table th[data-sort]")) {
    if (other.dataset.sort === state.by) other.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else other.removeAttribute("aria-sort");
  }
}

// ---- on the page -------------------------------------------------------------------------------

function showPage(state) {
  const last = Math.max(Math.ceil(state.found.length / PER_PAGE) - 1, 0);
  state.page = Math.max(0, Math.min(state.page, last));
  const from = state.page * PER_PAGE;
  const shown = state.found.slice(from, from + PER_PAGE);
  document.getElementById("table-body").replaceChildren(...shown.map(tableRow));
  const range = shown.length > 0 ? `Rows ${whole(from + 1)} to ${whole(from + shown.length)} of ${whole(state.found.length)}` : "No row found";
  document.getElementById("page-said").textContent = range;
  document.getElementById("table-said").textContent = `Flagged rows. ${range}.`;
  document.getElementById("page-back").disabled = state.page === 0;
  document.getElementById("page-on").disabled = state.page === last;
  document.getElementById("select-found").disabled = state.found.length === 0;
  markChosen();
}

function tableRow(i) {
  const box = element("input", { type: "checkbox", ariaLabel: `Select row ${shownId(i)}` });
  box.addEventListener("change", () => selection.toggle(i));
  const look = element("button", { type: "button", title: "Select this row and show it in the map" }, apart(shownId(i), unturned(rowId(i))));
  look.addEventListener("click", () => {
    selection.set([i], true);
    document.getElementById("outliers").scrollIntoView();
    document.getElementById("map").focus({ preventScroll: true });
  });
  const named = becauseOf(i, 60).map((said) => element("span", {}, apart(said)));
  const made = element("tr", { role: "row" },
    element("td", { role: "cell", className: "tick" }, box),
    element("td", { role: "cell", className: "id" }, look),
    element("td", { role: "cell", className: "kind" }, sign(rows.kind[i]), kindOf(i)),
    element("td", { role: "cell", className: "number score", textContent: figures(relative("score", i)) }),
    element("td", { role: "cell", className: "number orthogonal", textContent: figures(relative("orthogonal", i)) }),
    ...(plainBits ? [element("td", { role: "cell", className: "plain-flag", textContent: plainFlags(i) ? "flags it" : "misses it" })] : []),
    element("td", { role: "cell", className: "features" }, ...named.flatMap((part) => [part, " "])),
  );
  made.dataset.row = String(i);
  return made;
}

function markChosen() {
  for (const line of document.getElementById("table-body").rows) {
    const chosen = selection.has(Number(line.dataset.row));
    line.classList.toggle("chosen", chosen);
    line.querySelector("input").checked = chosen;
  }
}
