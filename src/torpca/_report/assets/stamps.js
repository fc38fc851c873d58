// The four signs and the ring of a selected row, each drawn once and then stamped many times.

// Where there are very many rows their signs are smaller, and let those below shine through.
const crowdedGood = rows.count - rows.flagged > 3000;
const crowded = rows.flagged > 500;
const alpha = crowded ? Math.max(0.3, 0.75 * (500 / rows.flagged) ** 0.25) : 1;
// With more rings than this they are thin and small.
const MANY_RINGS = 1000;

// A small canvas, and its pen with the middle as origin.
function blank(size, sharp) {
  const made = element("canvas", { width: Math.ceil(size * sharp), height: Math.ceil(size * sharp) });
  const pen = made.getContext("2d");
  pen.scale(made.width / size, made.height / size);
  pen.translate(size / 2, size / 2);
  return { made, pen };
}

function stamp(kind, style, sharp) {
  const { made, pen } = blank(16, sharp);
  pen.fillStyle = style.getPropertyValue(`--kind-${kind}`);
  const shapes = [null, "M0 -5.6L5.2 3.9H-5.2Z", "M0 -5.8L5 0L0 5.8L-5 0Z", "M-4.2 -4.2H4.2V4.2H-4.2Z"];
  if (kind === 0) {
    pen.globalAlpha = crowdedGood ? 0.8 : 0.85;
    pen.beginPath();
    pen.arc(0, 0, crowdedGood ? 2 : 3.2, 0, 2 * Math.PI);
    pen.fill();
  } else {
    const shape = new Path2D(shapes[kind]);
    pen.globalAlpha = alpha;
    if (crowded) pen.scale(0.8, 0.8);
    pen.fill(shape);
    if (crowded) return made;
    pen.strokeStyle = style.getPropertyValue("--card");
    pen.lineWidth = 0.8;
    pen.stroke(shape);
  }
  return made;
}

// The ring around a selected row, with a halo so that it is seen on points of any colour; a thin one
// if it is small.
function ringStamp(size, style, sharp) {
  const { made, pen } = blank(size, sharp);
  const thin = size < 20;
  pen.arc(0, 0, thin ? 4.5 : 8, 0, 2 * Math.PI);
  for (const [colour, width] of thin ? [["--ink", 1]] : [["--card", 4.5], ["--ink", 1.75]]) {
    pen.strokeStyle = style.getPropertyValue(colour);
    pen.lineWidth = width;
    pen.stroke();
  }
  return made;
}

function onPaperNow() {
  return document.documentElement.classList.contains("on-paper");
}
