// What pages need besides htmx: the CSRF token, the theme, copying, and forms that are sent once.
document.body.addEventListener("htmx:configRequest", (event) => {
  const token = document.body.dataset.csrf;
  if (token) event.detail.headers["X-CSRF-Token"] = token;
});

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) {
    navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent).then(() => { button.textContent = "Copied"; });
  }
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  addEventListener("pageshow", () => { delete form.dataset.sent; }, { once: true });
});

// The keys g and / : to the menu, to the first search field.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  const wanted = event.key === "/" ? "input[type=search]" : event.key === "g" ? "nav.menu a" : null;
  const found = wanted && document.querySelector(wanted);
  if (found) { event.preventDefault(); found.focus(); }
});
