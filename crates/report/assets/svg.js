// Charts as files: every chart gets a button that draws what is seen of it as one SVG, without HTML, scripts or anything to be
// fetched. Without this script there are no buttons.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  // What belongs to a figure and is no part of its picture.
  const OMITTED = "details, button, input, .scroll, .flame-tools, .hidden, title";
  const EDGE = 14;
  const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });

  const begin = (part) => part.querySelectorAll("figure[data-chart]").forEach(addButton);
  begin(document);
  document.addEventListener("unpacked", (event) => begin(event.detail));

  function addButton(figure) {
    const { chart, cell, metric, side } = figure.dataset;
    const name = ["ciphertax", chart, cell, metric, side].filter(Boolean).join("-").replace(/[^\p{L}\p{N}.]+/gu, "-");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "SVG";
    button.title = "Save this chart as an SVG file";
    button.setAttribute("aria-label", `Save as an SVG file: ${titleOf(figure)}`);
    button.addEventListener("click", () => save(`${name}.svg`, drawn(figure)));
    figure.querySelector("figcaption").after(button);
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  /** The caption without its legend. */
  function titleOf(figure) {
    const caption = figure.querySelector("figcaption").cloneNode(true);
    caption.querySelectorAll("ul").forEach((legend) => legend.remove());
    return oneLine(caption.textContent);
  }

  /** The picture, as it stands on the page now: its size, its colours, what is zoomed into. */
  function drawn(figure) {
    const frame = figure.getBoundingClientRect();
    const font = getComputedStyle(figure).fontFamily;
    const root = add(null, "svg", { role: "img", "font-family": font });
    let bottom = 0;
    add(root, "title").textContent = harmless(titleOf(figure));
    const words = [...figure.querySelectorAll("[role=img]")].map((image) => image.getAttribute("aria-label"));
    add(root, "desc").textContent = harmless(words.join("\n"));
    const paper = add(root, "rect", { width: "100%", height: "100%" });
    paint(paper, "fill", getComputedStyle(figure).backgroundColor, 1);
    [...figure.children].forEach((child) => walk(child, 1));
    const [width, height] = [Math.ceil(frame.width), Math.ceil(bottom + EDGE)];
    set(root, { width, height, viewBox: `0 0 ${width} ${height}` });
    return new XMLSerializer().serializeToString(root);

    function walk(element, opacity) {
      const style = getComputedStyle(element);
      if (element.matches(OMITTED) || style.display === "none" || style.visibility === "hidden") return;
      opacity *= Number(style.opacity);
      if (element instanceof SVGGeometryElement) return shape(element, style, opacity);
      if (element instanceof SVGTextElement) return label(element, style, opacity);
      if (!(element instanceof SVGElement)) boxes(element, style, opacity);
      for (const child of element.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) text(child, style, opacity);
        if (child.nodeType === Node.ELEMENT_NODE) walk(child, opacity);
      }
    }

    /** Background, borders, outline, and the mark before a name. */
    function boxes(element, style, opacity) {
      const box = element.getBoundingClientRect();
      if (isSeen(style.backgroundColor)) {
        const radius = parseFloat(style.borderTopLeftRadius) || 0;
        paint(rectangle(box, { rx: radius }), "fill", style.backgroundColor, opacity);
      }
      if (style.outlineStyle !== "none") {
        const outline = rectangle(box, { fill: "none", "stroke-width": parseFloat(style.outlineWidth) });
        paint(outline, "stroke", style.outlineColor, opacity);
      }
      const { left, right, top, bottom: low } = box;
      const borders = {
        Top: [left, top, right, top],
        Bottom: [left, low, right, low],
        Left: [left, top, left, low],
        Right: [right, top, right, low],
      };
      for (const [side, [x1, y1, x2, y2]] of Object.entries(borders)) {
        const wide = parseFloat(style[`border${side}Width`]);
        if (wide === 0 || style[`border${side}Style`] === "none") continue;
        const line = add(root, "line", { ...moved("1", x1, y1), ...moved("2", x2, y2), "stroke-width": wide });
        paint(line, "stroke", style[`border${side}Color`], opacity);
      }
      const before = getComputedStyle(element, "::before");
      if (before.content === "none" || !isSeen(before.backgroundColor)) return;
      const first = element.getClientRects()[0];
      const [width, height] = [parseFloat(before.width), parseFloat(before.height)];
      const line = Math.min(first.height, parseFloat(style.lineHeight) || first.height);
      const mark = { left: first.left, top: first.top + (line - height) / 2, width, height };
      paint(rectangle(mark, { rx: parseFloat(before.borderTopLeftRadius) || 0 }), "fill", before.backgroundColor, opacity);
    }

    /** The lines of a text as they are broken. */
    function text(node, style, opacity) {
      const range = document.createRange();
      const lines = [];
      for (const word of node.data.matchAll(/\S+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const pieces = range.getClientRects().length > 1 ? [...word[0]] : [word[0]];
        let at = word.index;
        pieces.forEach((piece, i) => {
          range.setStart(node, at);
          range.setEnd(node, (at += piece.length));
          const box = range.getBoundingClientRect();
          const last = lines.at(-1);
          if (last && Math.abs(last.top - box.top) < 2) {
            last.words += (i === 0 ? " " : "") + piece;
            last.right = box.right;
          } else if (box.width > 0) {
            lines.push({ words: piece, left: box.left, right: box.right, top: box.top });
          }
        });
      }
      const parent = node.parentElement;
      const isFirst = parent.firstChild === node && getComputedStyle(parent, "::first-letter").textTransform === "uppercase";
      if (isFirst && lines.length > 0) lines[0].words = lines[0].words[0].toUpperCase() + lines[0].words.slice(1);
      for (const { words, left, right, top } of lines) {
        const end = ["right", "end"].includes(style.textAlign);
        const middle = style.textAlign === "center";
        const x = end ? right : middle ? (left + right) / 2 : left;
        write(words, x, top + ascent(style), style, opacity, end ? "end" : middle ? "middle" : null);
      }
    }

    /** A text of a drawing, without what its box cuts off. */
    function label(element, style, opacity) {
      if (element.textContent === "") return;
      const at = element.getStartPositionOfChar(0).matrixTransform(element.getScreenCTM());
      const box = element.parentElement.closest("svg");
      const room = getComputedStyle(box).overflow === "hidden" ? box.getBoundingClientRect().right - at.x : Infinity;
      let shown = element.getNumberOfChars();
      while (shown > 0 && element.getSubStringLength(0, shown) > room) shown -= 1;
      write(element.textContent.slice(0, shown), at.x, at.y, { ...fontOf(style), color: style.fill }, opacity, null);
    }

    function write(words, x, y, style, opacity, anchor) {
      if (words.trim() === "") return;
      const line = add(root, "text", { ...moved("", x, y), "font-size": parseFloat(style.fontSize) });
      line.textContent = harmless(words);
      if (style.fontWeight !== "400") set(line, { "font-weight": style.fontWeight });
      if (style.fontFamily !== font) set(line, { "font-family": style.fontFamily });
      if (anchor) set(line, { "text-anchor": anchor });
      paint(line, "fill", style.color, opacity);
      bottom = Math.max(bottom, y - frame.top);
    }

    /** A shape where it stands, in pixels, so that strokes keep their width. */
    function shape(element, style, opacity) {
      const matrix = element.getScreenCTM();
      const at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
      const kind = element.localName;
      const box = element.getBBox();
      const [from, to] = [at(box.x, box.y), at(box.x + box.width, box.y + box.height)];
      let copy;
      if (kind === "line") {
        const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => element[name].baseVal.value);
        const [one, other] = [at(x1, y1), at(x2, y2)];
        copy = add(root, "line", { ...moved("1", one.x, one.y), ...moved("2", other.x, other.y) });
      } else if (kind === "circle") {
        const center = at(box.x + box.width / 2, box.y + box.height / 2);
        copy = add(root, "circle", { ...moved("c", center.x, center.y), r: box.width / 2 });
      } else if (kind === "rect") {
        copy = rectangle({ left: from.x, top: from.y, width: to.x - from.x, height: to.y - from.y }, {});
      } else {
        const point = (_, step, x, y) => {
          const to = at(Number(x), Number(y));
          return `${step}${round(to.x - frame.left)} ${round(to.y - frame.top)}`;
        };
        copy = add(root, "path", { d: element.getAttribute("d").replace(/([ML])\s*(-?[\d.]+)[\s,]+(-?[\d.]+)/g, point) });
      }
      bottom = Math.max(bottom, to.y - frame.top);
      paint(copy, "fill", kind === "line" ? "none" : style.fill, opacity * Number(style.fillOpacity));
      paint(copy, "stroke", style.stroke, opacity * Number(style.strokeOpacity));
      if (style.stroke !== "none") {
        const dashes = style.strokeDasharray.replaceAll("px", "");
        set(copy, { "stroke-width": parseFloat(style.strokeWidth), "stroke-linecap": style.strokeLinecap, "stroke-dasharray": dashes });
      }
      if (element.dataset.layer) set(copy, { "data-layer": element.dataset.layer });
      const told = element.querySelector("title");
      if (told) add(copy, "title").textContent = harmless(told.textContent);
    }

    function rectangle({ left, top, width, height }, attributes) {
      bottom = Math.max(bottom, top + height - frame.top);
      return add(root, "rect", { ...moved("", left, top), width: round(width), height: round(height), ...attributes });
    }

    /** Coordinates on the picture of a place on the screen. */
    function moved(suffix, x, y) {
      const names = suffix === "c" ? ["cx", "cy"] : [`x${suffix}`, `y${suffix}`];
      return { [names[0]]: round(x - frame.left), [names[1]]: round(y - frame.top) };
    }
  }

  function add(parent, name, attributes = {}) {
    const element = document.createElementNS(SVG, name);
    set(element, attributes);
    parent?.append(element);
    return element;
  }

  function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  /** A colour of the page as every program knows colours: six digits, and how opaque. */
  function paint(element, what, colour, opacity) {
    if (colour === "none" || !isSeen(colour)) return element.setAttribute(what, "none");
    const [red, green, blue, alpha] = levels(colour);
    const hex = [red, green, blue].map((level) => level.toString(16).padStart(2, "0")).join("");
    element.setAttribute(what, `#${hex}`);
    const opaque = round((alpha / 255) * opacity);
    if (opaque < 1) element.setAttribute(`${what}-opacity`, opaque);
  }

  function isSeen(colour) {
    return levels(colour)[3] > 0;
  }

  function levels(colour) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "#000";
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return pixel.getImageData(0, 0, 1, 1).data;
  }

  function ascent(style) {
    pixel.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    return pixel.measureText("x").fontBoundingBoxAscent ?? 0.9 * parseFloat(style.fontSize);
  }

  function fontOf({ fontSize, fontWeight, fontFamily }) {
    return { fontSize, fontWeight, fontFamily };
  }

  function round(number) {
    return Math.round(number * 100) / 100;
  }

  function oneLine(text) {
    return text.replace(/\s+/g, " ").trim();
  }

  /** Without the characters that XML does not allow. */
  function harmless(text) {
    return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  }
})();
