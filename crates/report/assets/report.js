// The charts of the report, drawn by Observable Plot from the record that is embedded in the page.
// A figure says with data-chart which chart it wants; the other data attributes choose what is in it.
(() => {
  "use strict";

  const run = JSON.parse(document.getElementById("run").textContent);
  const armNames = run.arms.map((arm) => arm.name);
  const phases = ["resolve", "tcp", "preface", "tls", "auth", "setup", "first_operation", "close"];

  // Below this width the names of arms stand above their bands, not beside them.
  const NARROW = 320;

  const charts = {
    phases: (figure, width) =>
      stacked(figure, width, (row) => row.mean_us, "mean wall time of a connect (µs)"),
    "phase-cpu": (figure, width) =>
      stacked(figure, width, (row) => row.client_cpu_us ?? 0, "client CPU of a connect (µs)"),
    ratios,
    churn,
  };

  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const drawAll = () => figures.forEach(draw);
  addEventListener("resize", drawAll);
  matchMedia("print").addEventListener("change", drawAll);
  drawAll();

  function draw(figure) {
    const mount = figure.querySelector(".plot");
    const width = Math.floor(mount.clientWidth);
    if (width === 0 || width === Number(mount.dataset.width)) return;
    mount.dataset.width = width;
    const svg = charts[figure.dataset.chart](figure.dataset, width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", mount.dataset.label);
    mount.replaceChildren(svg);
  }

  /** Phases as one stacked bar for each arm, with its total. */
  function stacked({ cell }, width, length, label) {
    const rows = run.connect_phases
      .filter((row) => row.cell === cell && length(row) > 0)
      .sort((a, b) => phases.indexOf(a.phase) - phases.indexOf(b.phase));
    const arms = armNames.filter((arm) => rows.some((row) => row.arm === arm));
    const totals = arms.map((arm) => ({
      arm,
      total: d3.sum(rows.filter((row) => row.arm === arm).map(length)),
    }));
    return Plot.plot({
      ...frame(width, arms),
      marginRight: 64,
      height: 52 + 38 * arms.length,
      x: { label, labelAnchor: "center", labelArrow: "none", grid: true, ticks: ticks(width) },
      y: { domain: arms, label: null, padding: 0.28, tickSize: 0 },
      marks: [
        Plot.barX(rows, {
          className: "phases",
          y: "arm",
          x: length,
          z: "phase",
          fill: { value: (row) => `var(--phase-${phases.indexOf(row.phase)})`, scale: null },
          order: phases,
          title: (row) => `${row.arm}, ${row.phase.replace("_", " ")}: ${length(row).toPrecision(3)} µs`,
        }),
        Plot.text(totals, {
          className: "totals",
          y: "arm",
          x: "total",
          text: ({ total }) => microseconds(total),
          textAnchor: "start",
          dx: 6,
          fill: "var(--text)",
          fontWeight: 600,
        }),
      ],
    });
  }

  /** The ratio of every block as a dot, one band for each arm, time from top to bottom; below the dots the estimate. */
  function ratios({ cell, metric }, width) {
    const here = (row) => row.cell === cell && row.metric === metric;
    const dots = run.block_ratios.filter(here).flatMap(({ arm, ratios }) =>
      ratios.map((ratio, i) => ({ arm, block: i, change: 100 * (ratio - 1), order: i / Math.max(1, ratios.length - 1) })),
    );
    const arms = armNames.filter((arm) => dots.some((dot) => dot.arm === arm));
    const estimates = [...run.noise_floor, ...run.estimates]
      .filter((row) => here(row) && arms.includes(row.arm))
      .map(({ arm, change, low, high }) => ({ arm, change: 100 * change, low: 100 * low, high: 100 * high }));
    const narrow = width < NARROW;
    const margin = 100 * Math.max(0, ...run.estimates.filter(here).map((row) => row.margin));
    return Plot.plot({
      ...frame(width, narrow ? [] : arms),
      marginTop: 4,
      height: 48 + (narrow ? 76 : 64) * arms.length,
      x: {
        label: "change (%)",
        labelAnchor: "center",
        labelArrow: "none",
        grid: true,
        nice: true,
        ticks: ticks(width),
        tickFormat: percent,
      },
      y: { axis: null, domain: [1.45, narrow ? -0.6 : -0.15] },
      fy: { domain: arms, label: null, axis: narrow ? null : "left", padding: 0, tickSize: 0 },
      marks: [
        margin > 0 ? Plot.rectX([margin], { x1: -margin, x2: margin, fill: "var(--band)", className: "noise-floor" }) : null,
        Plot.ruleX([0], { stroke: "var(--faint)" }),
        narrow ? Plot.text(arms, { fy: (arm) => arm, text: (arm) => arm, frameAnchor: "top-left", dy: 4, fill: "var(--text)", stroke: "var(--surface)", strokeWidth: 5 }) : null,
        Plot.dot(dots, {
          className: "blocks",
          x: "change",
          y: "order",
          fy: "arm",
          r: 2.2,
          fill: { value: armColour, scale: null },
          fillOpacity: 0.55,
          title: ({ arm, block, change }) => `${arm}, block ${block}: ${percent(change.toPrecision(3))} %`,
        }),
        Plot.ruleY(estimates, {
          className: "intervals",
          x1: "low",
          x2: "high",
          y: 1.26,
          fy: "arm",
          stroke: { value: armColour, scale: null },
          strokeWidth: 4,
          strokeLinecap: "round",
        }),
        Plot.dot(estimates, {
          className: "means",
          x: "change",
          y: 1.26,
          fy: "arm",
          r: 4,
          fill: "var(--surface)",
          stroke: { value: armColour, scale: null },
          strokeWidth: 2,
        }),
      ],
    });
  }

  /** Overhead against queries per connection, on a logarithmic axis, with the budgets and where they are reached. */
  function churn({ side }, width) {
    const rows = run.churn.filter((row) => row.side === side);
    const points = rows.flatMap(({ arm, points }) =>
      points.map(({ queries, overhead }) => ({
        arm,
        queries,
        value: 100 * overhead.value,
        low: 100 * overhead.low,
        high: 100 * overhead.high,
      })),
    );
    const budgets = [...new Set(rows.flatMap((row) => row.break_even.map((point) => 100 * point.budget)))];
    const last = Math.max(...points.map((point) => point.queries));
    const reached = rows.flatMap(({ arm, break_even }) =>
      break_even
        .filter(({ queries }) => queries !== null && queries >= 1 && queries <= last)
        .map(({ budget, queries }) => ({ arm, budget: 100 * budget, queries })),
    );
    const top = Math.max(...points.map((point) => point.high), ...budgets);
    const bottom = Math.min(0, ...points.map((point) => point.low));
    const overheads = [0, ...budgets, 30, 100, 300, 1000, 3000, 10000].filter((tick) => tick <= top);
    return Plot.plot({
      ...frame(width, []),
      marginLeft: Math.max(52, Math.round(16 + 7.2 * `${overheads.at(-1)} %`.length)),
      marginTop: 26,
      height: 284,
      x: {
        type: "log",
        label: "queries per connection",
        labelAnchor: "center",
        labelArrow: "none",
        ticks: powersOfTen(last, width < 240 ? 2 : 1),
        tickFormat: "~s",
      },
      y: {
        type: "symlog",
        constant: 2,
        domain: [bottom, top],
        label: "more CPU (%)",
        labelArrow: "none",
        ticks: overheads,
        tickFormat: (tick) => `${tick} %`,
        grid: true,
        tickSize: 0,
      },
      marks: [
        Plot.ruleY(budgets, { className: "budgets", stroke: "var(--faint)", strokeDasharray: "3 3" }),
        Plot.areaY(points, {
          className: "intervals",
          x: "queries",
          y1: "low",
          y2: "high",
          z: "arm",
          fill: { value: armColour, scale: null },
          fillOpacity: 0.2,
        }),
        Plot.lineY(points, {
          className: "curves",
          x: "queries",
          y: "value",
          z: "arm",
          stroke: { value: armColour, scale: null },
          strokeWidth: 2,
        }),
        Plot.dot(reached, {
          className: "break-evens",
          x: "queries",
          y: "budget",
          r: 4.5,
          fill: { value: armColour, scale: null },
          stroke: "var(--surface)",
          title: ({ arm, budget, queries }) => `${arm}: below ${budget} % from ${Math.round(queries)} queries per connection`,
        }),
        ...rows.slice(0, 2).map(({ arm }, i) =>
          Plot.text(reached, {
            className: "break-even-labels",
            filter: (point) => point.arm === arm,
            x: "queries",
            y: "budget",
            text: ({ queries }) => Math.round(queries).toLocaleString("en"),
            textAnchor: "start",
            dx: 5,
            dy: i === 0 ? 13 : -13,
            fill: "var(--text)",
          }),
        ),
      ],
    });
  }

  /** What all charts have in common; the left margin holds the longest of the labels. */
  function frame(width, labels) {
    const longest = Math.max(0, ...labels.map((label) => label.length));
    return {
      width,
      marginLeft: Math.min(Math.round(18 + 7.2 * longest), Math.round(width * 0.4)),
      marginRight: 24,
      marginBottom: 40,
      style: { fontSize: "12px" },
    };
  }

  function armColour({ arm }) {
    return `var(--arm-${armNames.indexOf(arm) % 8})`;
  }

  function ticks(width) {
    return Math.max(2, Math.floor(width / 80));
  }

  /** 1, 10, 100, … up to the last; with a step of two every second of them. */
  function powersOfTen(last, step) {
    const exponents = d3.range(0, Math.log10(last) + 1e-9, step);
    return exponents.map((exponent) => 10 ** exponent);
  }

  function percent(value) {
    return Number(value) > 0 ? `+${value}` : String(value).replace("-", "−");
  }

  function microseconds(value) {
    return value >= 1000 ? `${(value / 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} µs`;
  }
})();
