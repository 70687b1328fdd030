// Reads from the document what a reader sees: first how long the page is, then, with everything unfolded, all of it.
(async () => {
  const height = document.documentElement.scrollHeight;
  const folded = [];
  const unfold = () => {
    const closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => (details.open = true));
    folded.push(...closed);
  };
  unfold();
  // Without scripts, a text in place of what is packed says so.
  const isPacked = (details) => details.lastElementChild.textContent === "";
  while ([...document.querySelectorAll("details[data-packed]")].some(isPacked)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  unfold();
  // What one chooses among is seen when it is chosen.
  const isSeen = (number) => {
    const choice = number.closest("[data-choice]");
    if (choice) document.getElementById(choice.dataset.choice).checked = true;
    return number.getClientRects().length > 0;
  };
  const isEmpty = (part) => {
    const inside = part.cloneNode(true);
    inside.querySelectorAll("h2, h3, h4, summary, figcaption, thead").forEach((heading) => heading.remove());
    return inside.textContent.trim() === "" && inside.querySelector("svg, input") === null;
  };
  const nameless = (row) => row.firstElementChild.textContent.trim() === "";
  const within = (part) => part.closest("section, header")?.id || part.textContent.trim().slice(0, 40);

  const overlap = (one, other) =>
    one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
  const collisions = (figure) => {
    const labels = [...figure.querySelectorAll(".tick, .total, .bar-name, .amount, .piece, .axis-label, .legend li")].filter(
      (label) => label.textContent.trim() !== "" && label.getClientRects().length > 0,
    );
    const boxes = labels.map((label) => label.getBoundingClientRect());
    const found = [];
    boxes.forEach((box, i) => {
      boxes.slice(0, i).forEach((other, j) => {
        if (overlap(box, other)) found.push(`${labels[j].textContent.trim()} and ${labels[i].textContent.trim()}`);
      });
    });
    return found;
  };
  const marksOf = (figure) => {
    const marks = {};
    for (const mark of figure.querySelectorAll("[data-layer]")) {
      const dots = mark.dataset.layer === "blocks" ? mark.getAttribute("d").split("M").length - 1 : 1;
      marks[mark.dataset.layer] = (marks[mark.dataset.layer] ?? 0) + dots;
    }
    return marks;
  };
  const outsideOf = (figure) => {
    const frame = figure.getBoundingClientRect();
    return [...figure.querySelectorAll("[data-layer], .tick")]
      .filter((mark) => mark.getClientRects().length > 0)
      .filter((mark) => {
        const box = mark.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
      })
      .map((mark) => mark.dataset.layer ?? mark.textContent);
  };
  // The words of a piece are cut off where the piece is too short for them.
  const cutOff = (figure) =>
    [...figure.querySelectorAll(".piece")].filter((piece) => piece.scrollWidth > piece.clientWidth + 1).map((piece) => piece.textContent);

  const shown = {
    height,
    verdict: document.getElementById("verdict").textContent,
    width: document.documentElement.scrollWidth,
    record: document.getElementById("run").textContent,
    packed: document.querySelectorAll("details[data-packed]").length,
    empty: [...document.querySelectorAll("section, details, figure, table")].filter(isEmpty).map(within),
    nameless: [...document.querySelectorAll("tbody tr")].filter(nameless).map(within),
    marks: [...document.querySelectorAll(".mark")].map((mark) => ({
      ...mark.dataset,
      shown: [...mark.querySelectorAll("data")].map((number) => number.getAttribute("value")),
    })),
    numbers: [...document.querySelectorAll("data")].map((number) => ({
      value: number.getAttribute("value"),
      scale: number.dataset.scale ?? "",
      text: number.textContent,
      visible: isSeen(number),
    })),
    changes: [...document.querySelectorAll(".change")].map((change) => ({
      ...change.dataset,
      shown: [...change.querySelectorAll("data")].map((number) => number.getAttribute("value")),
    })),
    charts: [...document.querySelectorAll("figure[data-chart]")].map((figure) => {
      const frame = figure.getBoundingClientRect();
      const labels = [...figure.querySelectorAll("[role=img]")].map((image) => image.getAttribute("aria-label"));
      return {
        chart: figure.dataset.chart,
        cell: figure.dataset.cell ?? "",
        metric: figure.dataset.metric ?? "",
        side: figure.dataset.side ?? "",
        labelled: labels.every((label) => label !== ""),
        caption: figure.querySelector("figcaption")?.textContent ?? "",
        drawn: frame.width > 0 && frame.height > 0,
        marks: marksOf(figure),
        outside: outsideOf(figure).concat(cutOff(figure)),
        collisions: collisions(figure),
      };
    }),
  };
  folded.forEach((details) => (details.open = false));
  return JSON.stringify(shown);
})();
