// Which kinds of rows the pictures show. Thousands of flagged rows may hide the good ones, so that the
// entries of the legend are buttons that hide a kind and show it again.

const kinds = {
  shown: data.kinds.map(() => true),
  watchers: [],

  watch(watcher) {
    this.watchers.push(watcher);
  },
  has(i) {
    return this.shown[rows.kind[i]];
  },
  set(kind, shown) {
    if (this.shown[kind] === shown) return;
    this.shown[kind] = shown;
    for (const watcher of this.watchers) watcher();
  },
};

// The legend, and the same once more below the scores.
function legends() {
  const first = document.querySelector("#outliers ul.legend");
  const again = document.getElementById("legend-again");
  // Rows that could not be judged are in no picture.
  const drawn = [...first.children].slice(0, data.kinds.length);
  again.append(...drawn.map((item) => item.cloneNode(true)));
  for (const list of [drawn, [...again.children]]) list.forEach(legendButton);
}

function legendButton(item, kind) {
  const button = element("button", { type: "button", title: "Hide or show these rows in the pictures" }, ...item.childNodes);
  const mark = () => button.setAttribute("aria-pressed", String(kinds.shown[kind]));
  button.addEventListener("click", () => kinds.set(kind, !kinds.shown[kind]));
  kinds.watch(mark);
  mark();
  item.append(button);
}
