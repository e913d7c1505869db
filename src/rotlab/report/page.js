"use strict";

// What a cell sorts by: its first number, else its text; what is empty or words among numbers comes last.
function key(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/[,≥\s]/g, ""));
  return { text, number };
}

function compare(a, b, numeric) {
  if (!numeric) return a.text.localeCompare(b.text);
  if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
  return a.number - b.number;
}

function sortBy(header) {
  const descending = header.getAttribute("aria-sort") === "ascending";
  const body = header.closest("table").tBodies[0];
  const column = header.cellIndex;
  const numeric = header.classList.contains("number");
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row, column) }));
  rows.sort((a, b) => {
    const order = compare(a.key, b.key, numeric);
    const known = !numeric || !(Number.isNaN(a.key.number) || Number.isNaN(b.key.number));
    return descending && known ? -order : order;
  });
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  body.append(...rows.map((one) => one.row));
}

function filter() {
  const wanted = {};
  for (const select of document.querySelectorAll(".filters select")) wanted[select.name] = select.value;
  const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of document.querySelectorAll("[data-filtered]")) {
    const text = one.tagName === "TR" ? one.textContent.toLowerCase() : null;
    one.hidden = Object.entries(wanted).some(([name, value]) => value && one.dataset[name] && one.dataset[name] !== value)
      || (text !== null && words.some((word) => !text.includes(word)));
    if (text !== null && !one.hidden) shown += 1;
  }
  document.getElementById("shown").textContent = `${shown} rows shown`;
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}
for (const control of document.querySelectorAll(".filters select, .filters input")) {
  control.addEventListener("input", filter);
}
filter();
