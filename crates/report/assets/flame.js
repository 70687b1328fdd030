// Flame graphs: a click on a function gives it the whole width, and functions are found by their names. Without this script they
// are shown whole.
(() => {
  "use strict";

  // Pixels from which on a box has room for the begin of its name.
  const ROOM = 24;

  const begin = (part) => part.querySelectorAll('[data-chart="flame"]').forEach(bring);
  begin(document);
  document.addEventListener("unpacked", (event) => begin(event.detail));

  function bring(figure) {
    const graph = figure.querySelector(".flame");
    const tools = figure.querySelector(".flame-tools");
    const [find, all, found] = ["input", "button", "output"].map((name) => tools.querySelector(name));
    const boxes = [...graph.querySelectorAll("svg svg")].map((box) => ({
      box,
      x: parseFloat(box.getAttribute("x")),
      width: parseFloat(box.getAttribute("width")),
      y: Number(box.getAttribute("y")),
      name: box.querySelector("title").textContent,
    }));
    tools.hidden = false;
    const whole = boxes[0];
    boxes.forEach((each) => each.box.addEventListener("click", () => zoom(each)));
    all.addEventListener("click", () => {
      find.value = "";
      search();
      zoom(whole);
    });
    find.addEventListener("input", search);
    find.addEventListener("keydown", (event) => {
      const hits = boxes.filter((each) => each.box.classList.contains("hit"));
      if (event.key === "Enter" && hits.length > 0) zoom(hits.reduce((one, other) => (other.width > one.width ? other : one)));
    });

    /** Gives a box the whole width, and its callers too; what is beside it goes away. */
    function zoom(to) {
      const end = to.x + to.width + 0.005;
      for (const { box, x, width, y, name } of boxes) {
        const isAbove = y < to.y && x <= to.x + 0.005 && x + width + 0.005 >= to.x + to.width;
        const isBelow = y >= to.y && x + 0.005 >= to.x && x + width <= end + 0.005;
        box.classList.toggle("above", isAbove);
        box.classList.toggle("away", !isAbove && !isBelow);
        const [left, share] = isAbove ? [0, 100] : [(100 * (x - to.x)) / to.width, (100 * width) / to.width];
        box.setAttribute("x", `${left.toFixed(3)}%`);
        box.setAttribute("width", `${share.toFixed(3)}%`);
        if (!box.querySelector("text") && (share / 100) * graph.clientWidth > ROOM) {
          const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
          const sign = { u: "+ ", d: "− " }[box.classList[0][0]] ?? "";
          text.textContent = sign + name.split("\n")[0];
          box.append(text);
        }
      }
    }

    /** Marks what has the words in its name, and says how much of the time that is. */
    function search() {
      const words = find.value.trim().toLowerCase();
      graph.classList.toggle("searched", words !== "");
      const hits = boxes.filter((each) => {
        const [name, module] = each.name.toLowerCase().split("\n");
        const isHit = words !== "" && `${name}\n${module}`.includes(words);
        each.box.classList.toggle("hit", isHit);
        return isHit;
      });
      const isIn = (hit, other) => other.y < hit.y && other.x <= hit.x + 0.005 && other.x + other.width + 0.005 >= hit.x + hit.width;
      const share = hits.filter((hit) => !hits.some((other) => isIn(hit, other))).reduce((sum, hit) => sum + hit.width, 0);
      found.textContent = words === "" ? "" : `${hits.length} found, ${share.toFixed(1)} % of the time`;
    }
  }
})();
