// Tables that sort, filter by paper and verdict, and search. Without this script they are plain tables.
"use strict";
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // a number at the head of a cell, with the minus sign and the narrow spaces that the page writes
  const number = (text) => {
    const found = text.replace(/[\u202f\u00a0]/g, "").replace(/\u2212/g, "-").match(/^[-+]?\d+(\.\d+)?/);
    return found ? Number(found[0]) : NaN;
  };
  const units = { s: 1, min: 60, h: 3600, million: 1e6, billion: 1e9 };
  const value = (row, index) => {
    const text = row.cells[index].textContent.trim();
    const unit = text.match(/\d\s(s|min|h|million|billion)$/);
    return { text, number: number(text) * (unit ? units[unit[1]] : 1) };
  };
  const order = (a, b, numeric) =>
    numeric ? a.number - b.number : a.text.localeCompare(b.text, "en", { numeric: true });

  const sort = (table, head, index) => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, total: row.classList.contains("total"), key: value(row, index) }));
    const without = (each) => Number.isNaN(each.key.number);
    const numeric = rows.filter(without).length < rows.length / 2;
    const sign = descending ? -1 : 1;
    // the row of totals stays last, and so does what has no number among numbers
    rows.sort(
      (a, b) =>
        a.total - b.total || (numeric && without(a) - without(b)) || (sign * order(a.key, b.key, numeric) || 0)
    );
    body.append(...rows.map((each) => each.row));
  };

  const choice = (name, values, change) => {
    const select = make("select", { onchange: change }, make("option", { value: "", textContent: "all" }));
    select.append(...values.map((each) => make("option", { value: each, textContent: each })));
    return [make("label", {}, name, select), select];
  };

  const tools = new Map();
  const addTools = (table) => {
    const rows = [...table.tBodies[0].rows];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const count = make("output");
    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const fits =
          (!paper.value || row.dataset.paper === paper.value) &&
          (!verdict.value || row.dataset.verdict === verdict.value) &&
          words.every((word) => texts.get(row).includes(word));
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    };
    const values = (name) => [...new Set(rows.map((row) => row.dataset[name]).filter(Boolean))];
    const search = make("input", { type: "search", oninput: show });
    const [paperLabel, paper] = choice("Paper", values("paper"), show);
    const [verdictLabel, verdict] = choice(table.dataset.tools.replace(/^./, (c) => c.toUpperCase()), values("verdict"), show);
    const bar = make("div", { className: "tools screen" }, make("label", {}, "Search", search));
    if (paper.options.length > 2) bar.append(paperLabel);
    if (verdict.options.length > 2) bar.append(verdictLabel);
    bar.append(count);
    table.parentElement.before(bar);
    tools.set(table, { paper, verdict, show });
    show();
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      const button = make("button", { type: "button", onclick: () => sort(table, head, index) });
      button.append(...head.childNodes);
      head.append(button);
    });
    if (table.dataset.tools !== undefined) addTools(table);
  }

  // an address may choose rows of a table: claims.html?paper=ogura&verdict=partly#all-claims
  const chosen = new URLSearchParams(location.search);
  const of = tools.get(document.getElementById(location.hash.slice(1)));
  if (of && chosen.size) {
    of.paper.value = chosen.get("paper") || "";
    of.verdict.value = chosen.get("verdict") || "";
    of.show();
  }
})();
