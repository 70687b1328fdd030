// Reads from the document what a reader sees.
JSON.stringify({
  verdict: document.getElementById("verdict").textContent,
  width: document.documentElement.scrollWidth,
  record: document.getElementById("run").textContent,
  numbers: [...document.querySelectorAll("data")].map((number) => ({
    value: number.getAttribute("value"),
    scale: number.dataset.scale ?? "",
    text: number.textContent,
    visible: number.getClientRects().length > 0,
  })),
  changes: [...document.querySelectorAll(".change")].map((change) => ({
    ...change.dataset,
    shown: [...change.querySelectorAll("data")].map((number) => number.getAttribute("value")),
  })),
  charts: [...document.querySelectorAll("figure[data-chart]")].map((figure) => {
    const svg = figure.querySelector(".plot > svg");
    const marks = {};
    const frame = svg?.getBoundingClientRect();
    const outside = [];
    const shapes = (group) => [...group.querySelectorAll("circle, rect, path, line, text")];
    for (const group of svg?.querySelectorAll("g[class]") ?? []) {
      marks[group.getAttribute("class")] = (marks[group.getAttribute("class")] ?? 0) + shapes(group).length;
    }
    for (const shape of svg === null ? [] : shapes(svg)) {
      const box = shape.getBoundingClientRect();
      const inside =
        box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
      if (!inside) outside.push(`${shape.closest("g").getAttribute("aria-label")} ${shape.textContent}`);
    }
    return {
      chart: figure.dataset.chart,
      cell: figure.dataset.cell ?? "",
      metric: figure.dataset.metric ?? "",
      side: figure.dataset.side ?? "",
      label: svg?.getAttribute("aria-label") ?? "",
      caption: figure.querySelector("figcaption")?.textContent ?? "",
      drawn: frame !== undefined && frame.width > 0 && frame.height > 0,
      marks,
      outside,
    };
  }),
});
