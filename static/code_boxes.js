// The buttons of a box of code: lines that wrap, its text as a file, and a diagram drawn in a frame without an origin.
// Fetched with the first such click. Listens to the load of such a frame, and to its message.
import { find, gettext } from "./page.js";

const HIGHEST = 2_000; // pixels

const ENDINGS = {
  bash: "sh", c: "c", cpp: "cpp", csharp: "cs", css: "css", csv: "csv", diff: "diff", go: "go", html: "html", java: "java",
  javascript: "js", js: "js", json: "json", jsx: "jsx", kotlin: "kt", latex: "tex", lua: "lua", markdown: "md", mermaid: "mmd",
  perl: "pl", php: "php", py: "py", python: "py", r: "r", ruby: "rb", rust: "rs", scala: "scala", sh: "sh", shell: "sh", sql: "sql",
  svg: "svg", swift: "swift", toml: "toml", ts: "ts", tsx: "tsx", typescript: "ts", xml: "xml", yaml: "yaml", yml: "yml",
};

const save = (box) => {
  const language = find(".code-head span", box).textContent.trim().toLowerCase(), link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([find("pre", box).textContent], { type: "text/plain" }));
  link.download = `code.${ENDINGS[language] ?? "txt"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && document.documentElement.dataset.theme !== "light" || document.documentElement.dataset.theme === "dark";
const undraw = (box, button) => {
  find("iframe", box)?.remove();
  box.classList.remove("drawn");
  button.textContent = gettext("Draw");
};
const draw = (box, button) => {
  if (find("iframe", box)) { undraw(box, button); return; }
  const frame = document.createElement("iframe");
  frame.title = gettext("Diagram");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = "/diagram";
  frame.addEventListener("load", () => frame.contentWindow.postMessage({ code: find("pre", box).textContent, dark: isDark() }, "*"));
  box.append(frame);
  box.classList.add("drawn");
  button.textContent = gettext("Code");
};
addEventListener("message", ({ source, data }) => {
  const frame = [...document.querySelectorAll(".code > iframe")].find((one) => one.contentWindow === source);
  if (!frame) return;
  const box = frame.parentElement, button = find("[data-code=draw]", box);
  if (Number.isFinite(data?.height)) { frame.style.height = `${Math.min(HIGHEST, Math.max(40, data.height))}px`; return; }
  undraw(box, button);
  button.textContent = gettext("Cannot be drawn");
  button.title = String(data?.error ?? "");
});

export const act = (button) => {
  const box = button.closest(".code");
  if (button.dataset.code === "wrap") button.ariaPressed = String(box.classList.toggle("wrapped"));
  else if (button.dataset.code === "save") save(box);
  else draw(box, button);
};
