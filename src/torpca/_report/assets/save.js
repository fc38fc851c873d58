// Pictures as files: each has two small buttons that save it as PNG or SVG, as it is on the screen.

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-size", "font-weight", "opacity"];

function saveButtons() {
  for (const host of document.querySelectorAll(".plot[id], .chart[id]")) {
    if (host.hidden || host.closest("#why-body, #values-body")) continue;
    const name = host.getAttribute("aria-label").split(/[:;,]/)[0];
    const button = (kind, act) => {
      const made = element("button", { type: "button", textContent: kind, ariaLabel: `Save as ${kind}: ${name}` });
      made.addEventListener("click", () => act(host, `${host.id}.${kind.toLowerCase()}`));
      return made;
    };
    host.after(element("div", { className: "tools save" }, element("span", { className: "help", textContent: "Save as", ariaHidden: "true" }), button("PNG", savePng), button("SVG", saveSvg)));
  }
}

// All layers of a picture as one drawing that needs no style sheet.
function pictureText(host) {
  const { width, height } = host.getBoundingClientRect();
  const style = getComputedStyle(document.documentElement);
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": getComputedStyle(document.body).fontFamily });
  root.append(svg("rect", { width, height, fill: style.getPropertyValue("--card").trim() }));
  for (const layer of host.children) {
    if (layer.localName === "canvas") root.append(svg("image", { width, height, href: layer.toDataURL() }));
    if (layer.localName === "svg") root.append(withStyles(layer, width, height));
  }
  return { text: new XMLSerializer().serializeToString(root), width, height };
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
