// A row in a few words: to be read in a picture, or to be heard.

function describe(i) {
  const top = topFeatures(i).slice(0, 3);
  const parts = [
    element("b", {}, "Row ", apart(shownId(i))),
    element("div", { textContent: kindOf(i) }),
    element("div", { textContent: `score distance ${times(relative("score", i))}` }),
    element("div", { textContent: `orthogonal distance ${times(relative("orthogonal", i))}` }),
  ];
  if (top.length > 0) {
    parts.push(element("ul", {}, ...top.map((f) => element("li", {}, apart(shortened(f[0], 60)), ` ${f[1] > 0 ? "↑" : "↓"} ${percent(f[1])}`))));
  }
  return parts;
}

function spoken(i) {
  const top = topFeatures(i).slice(0, 3).map(([name, share]) => `${name} ${rows.kind[i] ? "too " : ""}${share > 0 ? "large" : "small"}`);
  const state = selection.has(i) ? ", selected" : "";
  return `Row ${shownId(i)}, ${kindOf(i)}${state}. ${top.join(", ")}`;
}
