// Ids beside the most extreme rows and the selected ones, where there is room.

const GAP = 4; // between labels
const CLEAR = 60; // flagged rows, the most extreme, that no label lies on

function drawLabels(plot, group, taken) {
  const narrow = plot.narrow();
  const most = Math.min(plot.spec.labels, rows.flagged > 60 ? 4 : Infinity, rows.flagged, narrow ? 6 : Infinity);
  const extreme = Array.from({ length: most }, (_, i) => i);
  const wanted = [...new Set([...selection.sorted().slice(0, narrow ? 6 : 20), ...extreme])].filter((i) => plot.inView(i));
  for (let i = 0; i < Math.min(rows.flagged, CLEAR); i++) if (plot.inView(i)) taken.push(around(...plot.place(i), 5));
  for (const i of wanted) taken.push(around(...plot.place(i), i === selection.current ? 12 : 6));
  const texts = labelTexts(wanted.map((i) => unturned(rowId(i))), narrow ? 10 : 22);
  wanted.slice(0, narrow ? 6 : Infinity).forEach((i, j) => {
    const [left, top] = plot.place(i);
    const room = freePlace(left, top, textWidth(texts[j], "600 12px"), plot.box(), taken);
    if (!room) return;
    taken.push({ ...room.box, x0: room.box.x0 - GAP, x1: room.box.x1 + GAP }, ...room.leader);
    if (room.leader.length > 0) group.append(svg("line", { class: "leader", x1: left, y1: top, x2: room.x, y2: room.end }));
    group.append(svg("text", { class: "label", x: room.x, y: room.y, "text-anchor": room.anchor }, texts[j]));
  });
}

// Short forms of names that stand side by side: words at the beginning that they all share say nothing.
function labelTexts(names, most) {
  if (names.every((name) => name.length <= most)) return names;
  let same = 0;
  while (names.length > 1 && names.every((name) => name[same] && name[same] === names[0][same])) same += 1;
  if (same > 0) same = names[0].slice(0, same).replace(/[\p{L}\p{N}\p{Cs}]+$/u, "").length;
  return names.map((name) => shortened(same > 2 && name.length > most ? `…${name.slice(same)}` : name, most));
}

function around(left, top, by) {
  return { x0: left - by, x1: left + by, y0: top - by, y1: top + by };
}

// A place for a label of some width near a point: beside it, above, below, then farther away, where a
// line leads to it.
function freePlace(left, top, width, box, taken) {
  const free = (mine) => taken.every((t) => t.x1 < mine.x0 || t.x0 > mine.x1 || t.y1 < mine.y0 || t.y0 > mine.y1);
  for (const far of [10, 15, 26, 40]) {
    for (const [sx, sy] of [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]]) {
      const x = left + sx * far;
      const y = top + 4 + sy * (far + 4);
      const start = sx > 0 ? x : sx < 0 ? x - width : x - width / 2;
      const mine = { x0: start, x1: start + width, y0: y - 11, y1: y + 3 };
      const inside = mine.x0 >= box.x && mine.x1 <= box.x + box.width + 10 && mine.y0 >= box.y - 8 && mine.y1 <= box.y + box.height;
      const end = sx !== 0 ? y - 4 : sy < 0 ? mine.y1 : mine.y0; // of a line: at the side, below or above
      const leader = far > 15 ? between(left, top, x, end) : [];
      if (inside && free(mine) && leader.every(free)) {
        return { x, y, anchor: sx > 0 ? "start" : sx < 0 ? "end" : "middle", box: mine, leader, end };
      }
    }
  }
  return null;
}

// What a line takes up, as small boxes from where it leaves the sign of its point to near its end.
function between(x0, y0, x1, y1) {
  const long = Math.hypot(x1 - x0, y1 - y0);
  const boxes = [];
  for (let at = 18; at < long - 3; at += 3) boxes.push(around(x0 + (at / long) * (x1 - x0), y0 + (at / long) * (y1 - y0), 1));
  return boxes;
}
