// Puts everything on the page, and keeps its colours right.

legends();
outlierMap();
scorePlots();
cellMap();
whyPanel();
causeButtons();
nextSteps();
valuesPanel();
orderPlots();
cusumPlot();
loadingPlot();
biplot();
screePlot();
historyPlots();
flaggedTable();
saveButtons();

function redraw() {
  for (const draw of drawers) draw(true);
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// Paper is light, finer than a screen, and as wide as the style says.
function onPaper(printing) {
  document.documentElement.classList.toggle("on-paper", printing);
  document.getElementById("provenance")?.toggleAttribute("open", printing);
  redraw();
}

window.addEventListener("beforeprint", () => onPaper(true));
window.addEventListener("afterprint", () => onPaper(false));
document.documentElement.classList.add("ready");
