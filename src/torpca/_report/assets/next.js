// What to do next: commands to copy, and the flagged rows as a file.

function nextSteps() {
  const said = document.getElementById("next-said");
  const field = document.getElementById("next-text");
  const press = (id, act) => document.getElementById(id)?.addEventListener("click", act);
  const copy = async (text, what) => {
    field.value = text;
    field.hidden = false;
    field.rows = Math.min(text.split("\n").length + 1, 9);
    said.textContent = (await copied(field)) ? `Copied ${what}.` : "Copying is not allowed here: the text is marked, press Ctrl+C.";
  };
  const these = () => (selection.chosen.size > 0 ? selection.sorted() : Array.from({ length: rows.flagged }, (_, i) => i));
  press("copy-refit", () => {
    const numbers = these().map((i) => rows.number[i] + 1).sort((a, b) => a - b);
    copy(data.next.refit.replace("ROWS", () => numbers.join(", ")), `the code without ${many(numbers.length, "row")}`);
  });
  press("copy-again", () => copy(data.next.again, "the commands"));
  press("copy-score", () => copy(data.next.score, "the command"));
  press("save-flagged", () => {
    saveFile(data.next.file, new Blob([`\ufeff${flaggedCsv()}`], { type: "text/csv;charset=utf-8" }));
    said.textContent = `Saved ${many(rows.flagged, "row")} as ${data.next.file}.`;
  });
}

function flaggedCsv() {
  const plain = data.plainFlagged ? ["ordinary_pca_flags_it"] : [];
  const lines = [["row", "number", "type", "score_distance_in_limits", "orthogonal_distance_in_limits", ...plain, "features"]];
  for (let i = 0; i < rows.flagged; i++) {
    const named = becauseOf(i);
    const distances = ["score", "orthogonal"].map((which) => Number(relative(which, i).toPrecision(6)));
    lines.push([harmless(rowId(i)), rows.number[i] + 1, kindOf(i), ...distances, ...plain.map(() => (plainFlags(i) ? "yes" : "no")), harmless(named.join("; "))]);
  }
  return lines.map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function quoted(cell) {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

// What a spreadsheet would take for a formula is text.
function harmless(text) {
  const risky = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/.test(text);
  return risky && !/^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/.test(text) ? `'${text}` : text;
}

function saveFile(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
