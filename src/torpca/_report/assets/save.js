// Pictures as files: each has two small buttons that save it as PNG or SVG, as it is on the screen.

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-size", "font-weight", "opacity"];

function saveButtons() {
  for (const host of document.querySelectorAll(".plot[id], .chart[id]")) {
    if (!host.hidden && !host.closest("#why-body, #values-body")) host.after(saveTools(host)); // these are made anew
  }
}

function saveTools(host) {
  const name = host.getAttribute("aria-label").split(/[:;,]/)[0];
  const button = (kind, act) => {
    const made = element("button", { type: "button", textContent: kind, ariaLabel: `Save as ${kind}: ${name}` });
    made.addEventListener("click", () => act(host, `${host.id}.${kind.toLowerCase()}`));
    return made;
  };
  return element("div", { className: "tools save" }, element("span", { className: "help", textContent: "Save as", ariaHidden: "true" }), button("PNG", savePng), button("SVG", saveSvg));
}

// All layers of a picture as one drawing that needs no style sheet, with its key below.
function pictureText(host) {
  const { width, height: picture } = host.getBoundingClientRect();
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const key = keyBelow(keyOf(host), width, picture, colour);
  const height = picture + key.height;
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": getComputedStyle(document.body).fontFamily });
  root.append(svg("rect", { width, height, fill: colour("--card") }));
  for (const layer of host.children) {
    if (layer.localName === "canvas") root.append(svg("image", { width, height: picture, href: layer.toDataURL() }));
    if (layer.localName === "svg") root.append(withStyles(layer, width, picture));
  }
  root.append(...key.parts);
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

// The key of a picture: the kinds of rows that are drawn, or what its colours mean.
function keyOf(host) {
  if (host.classList.contains("plot")) {
    const drawn = data.kinds.map((name, kind) => [document.getElementById(`sign-${kind}`), name, `--kind-${kind}`]);
    return drawn.filter((_, kind) => kinds.shown[kind] && rows.kind.includes(kind));
  }
  const before = host.previousElementSibling;
  const items = before?.classList.contains("legend") ? [...before.children] : [];
  return items.map((item) => {
    const sign = item.querySelector("path, rect");
    return [sign, item.textContent.trim(), `--${sign.getAttribute("class")}`];
  });
}

// Signs and names below a picture, in as many lines as they need.
function keyBelow(key, width, top, colour) {
  if (key.length === 0) return { parts: [], height: 0 };
  const parts = [];
  let [x, y] = [16, top + 16];
  for (const [sign, name, fill] of key) {
    const long = 30 + textWidth(name);
    if (x > 16 && x + long > width) [x, y] = [16, y + 20];
    const made = svg("g", { transform: `translate(${x} ${y})`, fill: colour(fill) });
    const copy = sign.cloneNode(true);
    for (const name of ["id", "class"]) copy.removeAttribute(name);
    made.append(copy);
    parts.push(made, svg("text", { x: x + 12, y: y + 4, "font-size": 12, fill: colour("--ink") }, name));
    x += long;
  }
  return { parts, height: y - top + 14 };
}

function withStyles(layer, width, height) {
  const copy = layer.cloneNode(true);
  const [from, to] = [layer, copy].map((one) => [...one.querySelectorAll("*")]);
  from.forEach((one, j) => {
    if (one.closest(".hovered")) return;
    const style = getComputedStyle(one);
    for (const name of STYLES) to[j].setAttribute(name, style.getPropertyValue(name));
  });
  for (const gone of copy.querySelectorAll(".hovered")) gone.remove();
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return copy;
}

function saveSvg(host, name) {
  saveFile(name, new Blob([pictureText(host).text], { type: "image/svg+xml" }));
}

function savePng(host, name) {
  const { text, width, height } = pictureText(host);
  const image = new Image();
  image.onload = () => {
    const sharp = 2; // for slides and paper
    const sheet = element("canvas", { width: Math.round(width * sharp), height: Math.round(height * sharp) });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((blob) => saveFile(name, blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
