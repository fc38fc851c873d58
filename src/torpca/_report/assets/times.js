// Dates along an axis: milliseconds since 1970 as round times, in UTC as they were read.

const [SECOND, MINUTE, HOUR, DAY] = [1e3, 60e3, 3600e3, 86400e3];
const TIME_STEPS = [1, 10, 100, SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY];

// Places and texts of about so many times.
function timeTicks(low, high, about) {
  const step = TIME_STEPS.find((s) => (high - low) / s <= about);
  const places = [];
  if (step) for (let t = Math.ceil(low / step) * step; t <= high; t += step) places.push(t);
  else for (const t of months(low, high, about)) places.push(t);
  return places.map((t, j) => [t, timeText(t, step, j === 0 || new Date(t).getUTCDate() !== new Date(places[j - 1]).getUTCDate())]);
}

// The first of a month, or of every third, of a year, of ten, ...
function months(low, high, about) {
  const every = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12000].find((m) => (high - low) / (m * 30.4 * DAY) <= about) || 12000;
  const start = new Date(low);
  const found = [];
  for (let m = Math.floor((start.getUTCFullYear() * 12 + start.getUTCMonth()) / every) * every; found.length < 100; m += every) {
    const t = Date.UTC(Math.floor(m / 12), m % 12);
    if (t > high) break;
    if (t >= low) found.push(t);
  }
  return found;
}

// A time in the words that its step needs; the day only where it changes.
function timeText(t, step, day) {
  const iso = isoTime(t);
  if (!step) return iso.slice(0, 7);
  if (step >= DAY) return iso.slice(0, 10);
  if (day && step >= MINUTE) return iso.slice(5, 16).replace("T", " ");
  return step >= MINUTE ? iso.slice(11, 16) : step >= SECOND ? iso.slice(11, 19) : iso.slice(14, 23);
}

function isoTime(t) {
  const date = new Date(t);
  return Number.isFinite(date.getTime()) ? date.toISOString() : "";
}

// A time in full, without what is zero at its end.
function fullTime(t) {
  return isoTime(t).replace("T", " ").replace(/(:00)?\.000Z$|Z$/, "").replace(/ 00:00$/, "");
}
