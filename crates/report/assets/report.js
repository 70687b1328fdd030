// The rates of the capacity tables. Without this script they stay at those of the record, and the sliders are not shown.
(() => {
  "use strict";

  // The sliders go from a hundredth of the record's rate to a hundred times it, in steps of equal ratio.
  const SPAN = 100;

  for (const table of document.querySelectorAll(".capacity")) {
    const slider = table.querySelector("input");
    const recorded = Number(table.dataset.rate);
    slider.hidden = false;
    slider.value = "500";
    slider.addEventListener("input", () => {
      const rate = rounded(recorded * SPAN ** (slider.value / 500 - 1));
      show(table.querySelector(".rate data"), rate, rate.toLocaleString("en"));
      for (const cores of table.querySelectorAll(".cores")) {
        const [value, low, high] = cores.dataset.perRate.split(" ").map((each) => each * rate);
        const decimals = decimalsOf(value, low, high);
        [value, low, high].forEach((number, i) => {
          show(cores.querySelectorAll("data")[i], number, text(number, decimals));
        });
      }
    });
  }

  function show(number, value, text) {
    number.value = String(value);
    number.textContent = text;
  }

  /** To two digits, as people name rates. */
  function rounded(rate) {
    return Number(rate.toPrecision(2));
  }

  /** Those that give the larger of the number and its uncertainty two significant digits, as in the record's tables. */
  function decimalsOf(value, low, high) {
    const size = Math.max(Math.abs(value), (high - low) / 2, 1e-6);
    return Math.max(1, 1 - Math.floor(Math.log10(size)));
  }

  function text(number, decimals) {
    const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    const digits = Math.abs(number).toLocaleString("en", options);
    return number < 0 && /[1-9]/.test(digits) ? `−${digits}` : digits;
  }
})();

// The table of all cells: a word leaves the rows that have it, and an entry opens the cell that it leads to.
(() => {
  "use strict";

  const find = document.querySelector(".choice .find");
  if (find) {
    find.hidden = false;
    find.querySelector("input").addEventListener("input", (event) => {
      const words = event.target.value.toLowerCase();
      for (const row of document.querySelectorAll(".grid-of-cells tbody tr")) {
        row.hidden = !row.firstElementChild.textContent.toLowerCase().includes(words);
      }
    });
  }
  const open = () => {
    const cell = document.getElementById(location.hash.slice(1));
    for (let part = cell; part; part = part.parentElement) {
      if (part.matches("details")) part.open = true;
    }
    cell?.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();

// What is large and folded away at first is packed until it is unfolded.
(() => {
  "use strict";

  for (const details of document.querySelectorAll("details[data-packed]")) {
    details.lastElementChild.textContent = "";
    details.addEventListener("toggle", () => unpack(details), { once: true });
  }

  async function unpack(details) {
    const bytes = Uint8Array.from(atob(details.dataset.packed), (byte) => byte.charCodeAt(0));
    const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    details.lastElementChild.outerHTML = await new Response(text).text();
    delete details.dataset.packed;
    document.dispatchEvent(new CustomEvent("unpacked", { detail: details }));
  }
})();
