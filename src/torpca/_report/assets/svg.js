// Elements. Text from the data is only ever set as text, never as markup.

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function svg(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

// Names may run from right to left, or try to turn the text around them. What was cut is said in full
// when it is pointed at.
function apart(text, full = text) {
  return element("bdi", { textContent: text, title: full === text ? "" : full });
}

function sign(kind) {
  const made = svg("svg", { class: `sign kind-${kind}`, viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  made.append(svg("use", { href: `#sign-${kind}` }));
  return made;
}

// The name with its middle left out, if it is long: what tells names apart is often at the end.
function shortened(name, most) {
  if (name.length <= most) return name;
  const letters = [...name];
  if (letters.length <= most) return name;
  const [start, end] = [Math.ceil((most - 1) / 2), Math.floor((most - 1) / 2)];
  return `${letters.slice(0, start).join("")}…${letters.slice(letters.length - end).join("")}`;
}

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text, font = "12px") {
  ruler.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// As much of a name as fits.
function fitted(name, width) {
  let most = [...name].length;
  while (most > 1 && textWidth(shortened(name, most)) > width) most -= 1;
  return shortened(name, most);
}

function featureText([name, share]) {
  return `${name} too ${share > 0 ? "high" : "low"}`;
}

const drawers = []; // everything that is drawn anew for paper

// Draws again whenever the width of an element changes; all is drawn anew (true) for paper and colours.
function whenResized(host, draw) {
  let width = -1;
  drawers.push(draw);
  new ResizeObserver(() => {
    if (host.clientWidth === width || host.clientWidth === 0) return;
    width = host.clientWidth;
    draw();
  }).observe(host);
}

// An empty drawing as wide as its host.
function drawing(host, height) {
  const width = Math.max(host.clientWidth, 120);
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  host.replaceChildren(made);
  return { made, width };
}
