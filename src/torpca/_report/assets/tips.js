// A row in a few words: to be read in a picture, or to be heard.

function describe(i) {
  const top = becauseOf(i, 60);
  const parts = [
    element("b", {}, "Row ", apart(shownId(i))),
    element("div", { textContent: kindOf(i) }),
    ...(placeText(i) ? [element("div", { textContent: placeText(i) })] : []),
    element("div", { textContent: `score distance ${times(relative("score", i))}` }),
    element("div", { textContent: `orthogonal distance ${times(relative("orthogonal", i))}` }),
  ];
  if (top.length > 0) {
    parts.push(element("ul", {}, ...top.map((said) => element("li", {}, apart(said)))));
  }
  return parts;
}

// What explains a row, a few words for each feature: "rpm 0, usually 1,390 to 1,510".
function becauseOf(i, most = Infinity) {
  const why = reasonsOf(i);
  if (why.length > 0) return why.map(({ name, value, low, high }) => `${shortened(name, most)} ${figures(value)}, usually ${interval(low, high)}`);
  return mainFeatures(i).map(([name, share]) => featureText([shortened(name, most), share]));
}

function spoken(i) {
  const top = becauseOf(i);
  const state = selection.has(i) ? ", selected" : "";
  return `Row ${shownId(i)}, ${kindOf(i)}${state}. ${top.join(", ")}`;
}
