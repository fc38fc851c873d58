// What was packed into the page, as arrays. Rows are counted as they are drawn: first the flagged
// ones, the most extreme first, then the good ones.

const data = JSON.parse(document.getElementById("data").textContent);

// Text whose signs stand in the order in which they are: without the marks that turn it around.
function unturned(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

data.names = data.names.map(unturned);
data.shares.pointNames = data.shares.pointNames.map(unturned);

function unpacked(text, Kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Kind(bytes.buffer);
}

// Steps of an inverse hyperbolic sine if there are steps, else multiples of a unit.
function numbers({ unit, top, values }) {
  if (top) return Float64Array.from(unpacked(values, Int16Array), (steps) => unit * Math.sinh(steps * top));
  return Float64Array.from(unpacked(values, Float32Array), (multiple) => multiple * unit);
}

function coordinates({ scores, mean, covariance }) {
  return { values: scores.map(numbers), mean, covariance };
}

const numbersAndKinds = unpacked(data.rows, Uint32Array);

const rows = {
  count: data.drawn,
  flagged: data.drawnFlagged,
  number: numbersAndKinds.map((both) => both >>> 2),
  kind: Uint8Array.from(numbersAndKinds, (both) => both & 3),
  score: numbers(data.score),
  orthogonal: numbers(data.orthogonal),
  ours: coordinates(data.ours),
  plain: coordinates(data.plain),
};

const features = {
  place: unpacked(data.features.places, data.features.wide ? Uint32Array : Uint16Array),
  percent: unpacked(data.features.percent, Int8Array),
};

const shares = {
  place: unpacked(data.shares.places, Uint32Array),
  value: unpacked(data.shares.values, Int16Array),
  profile: unpacked(data.shares.profile, Int16Array),
};

// The id as it is in the data: to be copied and searched, and with `shownId` to be shown.
function rowId(i) {
  if (!data.ids) return String(rows.number[i] + 1);
  return i < data.ids.length ? data.ids[i] : `row ${rows.number[i] + 1}`;
}

function shownId(i, most = 80) {
  return shortened(unturned(rowId(i)), most);
}

function kindOf(i) {
  return data.kinds[rows.kind[i]];
}

const reasons = {
  count: unpacked(data.reasons.count, Uint8Array),
  kind: unpacked(data.reasons.kind, Uint8Array),
  place: unpacked(data.reasons.places, Uint32Array),
  columns: data.reasons.columns.map((text) => unpacked(text, Float64Array)),
};

// What explains a flagged row; nothing where the page has no room for it, and for spectra.
function reasonsOf(i) {
  if (i >= data.reasons.rows) return [];
  return Array.from({ length: reasons.count[i] }, (_, s) => {
    const at = i * data.reasons.perRow + s;
    const [value, expected, low, high, share] = reasons.columns.map((column) => column[at]);
    return { name: data.names[reasons.place[at]], value, expected, low, high, share };
  });
}

function isMended(i) {
  return (reasons.kind[i] & 1) === 1;
}

function isInLine(i) {
  return (reasons.kind[i] & 2) === 2;
}

// Features that made a row so, as [name, share with sign]; none where the page has no room for them.
// Of the most extreme spectra more are known, and neighbours that act together have one name.
function manyFeatures(i) {
  const { rows: known, named } = data.shares;
  const { rows: some, perRow } = data.features;
  const found = [];
  const take = (place, share) => {
    if (share !== 0) found.push([data.names[place], share]);
  };
  if (data.profile && i < known) {
    for (let j = i * named; j < (i + 1) * named; j++) take(shares.place[j], shares.value[j] / 10000);
  } else if (i < some) {
    for (let j = i * perRow; j < (i + 1) * perRow; j++) take(features.place[j], features.percent[j] / 100);
  }
  return found;
}

function topFeatures(i) {
  const many = manyFeatures(i);
  return many.slice(0, 5).filter(([, share]) => Math.abs(share) >= 0.005);
}

// Shares over all features in their order, or null where only the largest are known.
function profile(i) {
  const { rows: known, points } = data.shares;
  return i < known ? shares.profile.subarray(i * points, (i + 1) * points) : null;
}

// Those that a sentence would speak of: a fifth of the largest, or more.
function mainFeatures(i) {
  const top = topFeatures(i).slice(0, 3);
  return top.filter(([, share]) => Math.abs(share) >= 0.2 * Math.abs(top[0][1]));
}

const plainBits = data.plainFlagged ? unpacked(data.plainFlagged, Uint8Array) : null;

// Whether ordinary PCA flags a flagged row as well.
function plainFlags(i) {
  return plainBits !== null && ((plainBits[i >> 3] >> (i & 7)) & 1) === 1;
}

const scaledWords = data.scaled ? "columns scaled" : "columns not scaled";

// A distance in units of its limit; infinite beyond a limit of zero.
function relative(which, i) {
  const limit = data.limits[which === "score" ? 0 : 1];
  const distance = rows[which][i];
  return limit > 0 ? distance / limit : distance > 0 ? Infinity : 0;
}
