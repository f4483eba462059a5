// Draws every element with data-series: the path of a series as JSON. Refreshed every half minute while it is visible.
(() => {
  const COLOURS = ["#3b82c4", "#d9822b", "#2f9e62", "#c2488f", "#8067c9", "#b59a00", "#2a9aa8", "#c94f4f", "#7a8594", "#6b8e23", "#a0522d", "#5b7fff"];
  const REFRESH_MS = 30000;
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function scaled(value, step, units) {
    let at = 0;
    let number = value;
    while (Math.abs(number) >= step && at < units.length - 1) { number /= step; at += 1; }
    return `${Number(number.toPrecision(4))}${units[at]}`;
  }

  function shown(value, unit) {
    if (value === null || value === undefined) return "–";
    if (unit.startsWith("bytes")) return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
    if (unit === "ms") return value < 60000 ? `${Number((value / 1000).toPrecision(3))} s` : scaled(value / 60000, 60, [" min", " h"]);
    return scaled(value, 1000, ["", " k", " M", " G", " T"]);
  }

  // Times are UTC, as in the tables: with seconds, minutes or days, as far apart as the marks are.
  function moments(_, splits, axis, space, apart) {
    return splits.map((seconds) => {
      const text = new Date(seconds * 1000).toISOString();
      return apart < 60 ? text.slice(11, 19) : apart < 86400 ? text.slice(11, 16) : text.slice(5, 10);
    });
  }

  // Without values the hour until now, and not the first of 1970.
  function span(least, greatest) {
    const now = Date.now() / 1000;
    if (least === null || least === undefined) return [now - 3600, now];
    return least === greatest ? [least - 60, greatest + 60] : [least, greatest];
  }

  function options(element, series) {
    const unit = element.dataset.unit;
    const line = variable("--line");
    const text = variable("--text");
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    return {
      width: Math.max(200, element.clientWidth),
      height: 200,
      legend: { show: series.lines.length > 1 },
      cursor: { y: false },
      padding: [null, 32, null, null],
      scales: { x: { range: (_, least, greatest) => span(least, greatest) },
                y: { range: (_, least, greatest) => [Math.min(0, least ?? 0), (greatest ?? 0) > 0 ? greatest * 1.05 : 1] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      axes: [{ ...axis, values: moments }, { ...axis, size: 70, values: (_, values) => values.map((each) => shown(each, unit)) }],
      series: [{ value: (_, seconds) => seconds === null ? "–" : new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ") }, ...series.lines.map((each, index) => ({
        label: each.label, stroke: COLOURS[index % COLOURS.length], width: 2, spanGaps: false, points: { fill: variable("--card") },
        value: (_, value) => shown(value, unit),
      }))],
    };
  }

  function draw(element, series) {
    if (element.plot) element.plot.destroy();
    element.replaceChildren();
    element.series = series;
    element.plot = new uPlot(options(element, series), [series.times, ...series.lines.map((each) => each.values)], element);
  }

  function describe(element, series) {
    const state = element.parentElement.querySelector("[data-state]");
    const last = series.lines.length === 1 ? series.lines[0].values.at(-1) : null;
    const parts = series.times.length ? [] : ["no values in this range"];
    if (last !== null && last !== undefined) parts.push(`now ${shown(last, element.dataset.unit)}`);
    if (series.trend !== "unknown") parts.push(series.trend);
    state.textContent = parts.join(", ");
    element.dataset.drawn = String(series.times.length);
  }

  async function load(element) {
    const response = await fetch(element.dataset.series, { headers: { Accept: "application/json" } });
    if (!response.ok) {
      element.parentElement.querySelector("[data-state]").textContent = "The values cannot be loaded.";
      return;
    }
    const series = await response.json();
    draw(element, series);
    describe(element, series);
  }

  const elements = [...document.querySelectorAll("[data-series]")];
  const loadAll = () => { for (const element of elements) load(element).catch(() => {}); };
  const redraw = () => { for (const element of elements) if (element.series) draw(element, element.series); };
  loadAll();
  setInterval(() => { if (!document.hidden) loadAll(); }, REFRESH_MS);
  addEventListener("resize", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
