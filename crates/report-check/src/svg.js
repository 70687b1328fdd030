// Presses the button of every chart that is seen, with everything unfolded, and says what is wrong with the files that
// would be saved: each is one SVG that needs nothing else.
(async () => {
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  while (document.querySelector("details[data-packed]")) await new Promise((resolve) => setTimeout(resolve, 10));
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  const blobs = [];
  const names = [];
  const [makeUrl, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
  URL.createObjectURL = (blob) => `blob:${blobs.push(blob)}`;
  HTMLAnchorElement.prototype.click = function () {
    names.push(this.download);
  };
  const faults = [];
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const { chart, cell, metric, side } = figure.dataset;
    const of = [chart, cell, metric, side].filter(Boolean).join(" ");
    const fault = (what) => faults.push(`the saved chart ${of} ${what}`);
    const button = figure.querySelector("button.save");
    if (!button || !button.getAttribute("aria-label")) {
      fault("has no button with a name");
      continue;
    }
    button.click();
    const blob = blobs.pop();
    if (!blob || blob.type !== "image/svg+xml" || !/^ciphertax-.*\.svg$/.test(names.pop() ?? "")) {
      fault("saves no SVG file");
      continue;
    }
    const saved = await blob.text();
    const drawing = new DOMParser().parseFromString(saved, "image/svg+xml");
    if (drawing.querySelector("parsererror")) {
      fault("is not well formed");
      continue;
    }
    const root = drawing.documentElement;
    const foreign = root.querySelector("foreignObject, script, image, style, use");
    if (foreign) fault(`holds ${foreign.localName}`);
    if (/url\(|https?:(?!\/\/www\.w3\.org\/2000\/svg")/.test(saved.replace(/>[^<]*</g, "><"))) fault("refers to something outside");
    if (!root.querySelector("title")?.textContent || root.getAttribute("role") !== "img") fault("has no title");
    const inPage = [...figure.querySelectorAll("svg [data-layer]")].filter((mark) => mark.closest("figure details, figure .scroll") === null).length;
    const inFile = root.querySelectorAll("[data-layer]").length;
    if (inPage !== inFile) fault(`has ${inFile} marks, not ${inPage}`);
    const text = [...root.querySelectorAll("text")].map((line) => line.textContent).join(" ");
    for (const label of figure.querySelectorAll(".tick, .total, .bar-name, .amount b, .legend li")) {
      if (label.closest("figure details, figure .scroll") || label.getClientRects().length === 0) continue;
      const words = label.textContent.replace(/\s+/g, " ").trim();
      if (words !== "" && !text.replace(/\s+/g, "").includes(words.replace(/\s+/g, ""))) fault(`lacks ${JSON.stringify(words)}`);
    }
    const [, , width, height] = root.getAttribute("viewBox").split(" ").map(Number);
    for (const shape of root.querySelectorAll("line, rect, circle, text")) {
      const number = (name) => Number(shape.getAttribute(name) ?? 0);
      const x = number("x") + number("cx") + number("x1");
      const y = number("y") + number("cy") + number("y1");
      if (!(x >= -1 && x <= width + 1 && y >= -1 && y <= height + 1)) fault(`has a ${shape.localName} at ${x}, ${y} of ${width}, ${height}`);
    }
    if (/NaN|undefined|Infinity/.test(saved)) fault("has a number that is none");
  }
  URL.createObjectURL = makeUrl;
  HTMLAnchorElement.prototype.click = click;
  return JSON.stringify(faults);
})();
