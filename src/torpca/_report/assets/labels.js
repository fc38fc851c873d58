// Where a label has room.

function around(left, top, by) {
  return { x0: left - by, x1: left + by, y0: top - by, y1: top + by };
}

// A place for a label of some width near a point: beside it, above, below, then farther away.
function freePlace(left, top, width, box, taken) {
  for (const far of [10, 15, 26, 40]) {
    for (const [sx, sy] of [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]]) {
      const x = left + sx * far;
      const y = top + 4 + sy * (far + 4);
      const start = sx > 0 ? x : sx < 0 ? x - width : x - width / 2;
      const mine = { x0: start, x1: start + width, y0: y - 11, y1: y + 3 };
      const inside = mine.x0 >= box.x && mine.x1 <= box.x + box.width + 10 && mine.y0 >= box.y - 8 && mine.y1 <= box.y + box.height;
      const free = taken.every((t) => t.x1 < mine.x0 || t.x0 > mine.x1 || t.y1 < mine.y0 || t.y0 > mine.y1);
      if (inside && free) {
        const anchor = sx > 0 ? "start" : sx < 0 ? "end" : "middle";
        return { x, y, anchor, box: mine, far: far > 15, fromX: x, fromY: y - 4 };
      }
    }
  }
  return null;
}
