// The live tail: new messages are put in front of the table, as text and never as HTML.
(() => {
  const MOST_ROWS = 200;
  const button = document.getElementById("follow");
  const state = document.getElementById("tail-state");
  const body = document.querySelector("#messages tbody");
  let source = null;
  let skipped = 0;

  const made = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  const sizeText = (size) => (size < 1024 ? `${size} B` : size < 1048576 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1048576).toFixed(1)} MiB`);

  const field = (cell, shown) => {
    if (shown.kind === "null") { cell.append(made("span", "null", "faint")); return; }
    cell.append(made("pre", shown.text));
    const about = made("small");
    if (shown.kind !== "text") about.append(made("span", shown.kind, "tag"), " ");
    about.append(sizeText(shown.size) + (shown.is_cut ? ", shown in part" : ""));
    cell.append(about);
  };

  const row = (message) => {
    const line = made("tr");
    const offset = made("th", message.offset, "number");
    offset.scope = "row";
    const time = message.timestamp < 0 ? "–" : new Date(message.timestamp).toISOString().slice(0, 19).replace("T", " ");
    const key = made("td"), value = made("td"), headers = made("td");
    field(key, message.key);
    field(value, message.value);
    if (message.headers.length) {
      const list = made("ul", undefined, "plain");
      for (const header of message.headers) {
        const item = made("li");
        item.append(made("b", header.name), ": ");
        field(item, header);
        list.append(item);
      }
      if (message.more_headers) list.append(made("li", `and ${message.more_headers} more`));
      headers.append(list);
    }
    line.append(made("td", message.partition, "number"), offset, made("td", time), key, value, headers);
    return line;
  };

  const stop = (why) => {
    if (source) source.close();
    source = null;
    button.textContent = "Follow live";
    button.setAttribute("aria-pressed", "false");
    state.textContent = why;
  };

  const start = () => {
    skipped = 0;
    body.replaceChildren();
    source = new EventSource(button.dataset.tail);
    button.textContent = "Stop following";
    button.setAttribute("aria-pressed", "true");
    state.textContent = "Connecting …";
    source.addEventListener("begin", () => { state.textContent = "Following new messages."; });
    source.addEventListener("message", (event) => {
      body.prepend(row(JSON.parse(event.data)));
      while (body.rows.length > MOST_ROWS) body.lastElementChild.remove();
    });
    source.addEventListener("skipped", (event) => {
      skipped += JSON.parse(event.data).count;
      state.textContent = `Following new messages; ${skipped} came too fast to be shown.`;
    });
    source.addEventListener("end", (event) => stop(`The tail has ended: ${JSON.parse(event.data).why}`));
    source.onerror = () => stop("The tail has ended: the connection is closed.");
  };

  button.addEventListener("click", () => (source ? stop("") : start()));
  addEventListener("pagehide", () => { if (source) source.close(); });
})();
