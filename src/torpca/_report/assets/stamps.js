// The four signs, each drawn once and then stamped many times.

// Where there are very many rows their signs are smaller, and let those below shine through.
const crowdedGood = rows.count - rows.flagged > 3000;
const crowded = rows.flagged > 500;

function stamp(kind, style, sharp) {
  const made = element("canvas", { width: Math.ceil(16 * sharp), height: Math.ceil(16 * sharp) });
  const pen = made.getContext("2d");
  pen.scale(made.width / 16, made.height / 16);
  pen.translate(8, 8);
  pen.fillStyle = style.getPropertyValue(`--kind-${kind}`);
  const shapes = [null, "M0 -5.6L5.2 3.9H-5.2Z", "M0 -5.8L5 0L0 5.8L-5 0Z", "M-4.2 -4.2H4.2V4.2H-4.2Z"];
  if (kind === 0) {
    pen.globalAlpha = crowdedGood ? 0.55 : 0.85;
    pen.beginPath();
    pen.arc(0, 0, crowdedGood ? 2 : 3.2, 0, 2 * Math.PI);
    pen.fill();
  } else {
    const shape = new Path2D(shapes[kind]);
    if (crowded) {
      pen.globalAlpha = 0.75;
      pen.scale(0.8, 0.8);
    }
    pen.fill(shape);
    if (crowded) return made;
    pen.strokeStyle = style.getPropertyValue("--card");
    pen.lineWidth = 0.8;
    pen.stroke(shape);
  }
  return made;
}

function onPaperNow() {
  return document.documentElement.classList.contains("on-paper");
}
