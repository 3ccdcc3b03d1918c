// Copying: a message as it is stored, and as HTML for editors and mails; code as it is; a selection as it reads: without
// controls, and formulas as TeX.
// Listens to click and copy.
import { complain } from "./answers.js";
import { find, gettext } from "./page.js";

const CONTROLS = "button, .acts, template, script";
const KEPT = ["href", "src", "alt", "colspan", "rowspan", "start", "dir", "lang", "display", "xmlns"];

if (!navigator.clipboard) document.documentElement.classList.add("no-clipboard");

// `words` is a promise: a browser lets a page write only as long as a click is fresh, whatever the network does.
const writeClipboard = (words, html) => {
  if (typeof ClipboardItem !== "function") return words.then((text) => navigator.clipboard.writeText(text));
  const kinds = { "text/plain": words.then((text) => new Blob([text], { type: "text/plain" })) };
  if (html) kinds["text/html"] = new Blob([html], { type: "text/html" });
  return navigator.clipboard.write([new ClipboardItem(kinds)]);
};
// Returns a reply as HTML, without the page's controls and styles.
const htmlOf = (message) => {
  const prose = find(".text.prose", message)?.cloneNode(true);
  if (!prose) return "";
  for (const control of prose.querySelectorAll(`${CONTROLS}, .code-head`)) control.remove();
  for (const element of prose.querySelectorAll("*")) {
    for (const name of element.getAttributeNames()) if (!KEPT.includes(name)) element.removeAttribute(name);
  }
  return prose.innerHTML.trim();
};
const fetchText = async (address) => {
  const answer = await fetch(address, { redirect: "error" });
  if (!answer.ok) throw new Error(answer.status);
  return answer.text();
};
// A button with an icon has its name as a label, and another icon while it says that it is done.
const label = (button, name, isDone) => {
  const icon = find("use", button);
  if (!icon) { button.textContent = name; return; }
  button.ariaLabel = button.title = name;
  icon.setAttribute("href", isDone ? "#i-done" : "#i-copy");
};
const copy = async (button, words, html) => {
  try { await writeClipboard(words, html); } catch { complain(gettext("This could not be copied. Try again in a moment.")); return; }
  const place = find("#said");
  if (place) place.textContent = gettext("Copied.");
  label(button, gettext("Copied"), true);
  setTimeout(() => label(button, gettext("Copy"), false), 1500);
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.matches(".copy")) copy(button, fetchText(button.dataset.copy), htmlOf(button.closest(".message")));
  else if (button?.dataset.address) copy(button, Promise.resolve(button.dataset.address));
  else if (button?.dataset.code && button.dataset.code !== "copy") import("./code_boxes.js").then(({ act }) => act(button));
  else if (button?.dataset.code) copy(button, Promise.resolve(find("pre", button.closest(".code")).textContent.replace(/\n$/, "")));
});

// --- A selection ------------------------------------------------------------------------------------------------------

// Returns a copy of the selected part, apart from the page; null where the browser copies it just as well.
const copySelected = (range) => {
  const { commonAncestorContainer: node } = range, root = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  const formula = root.closest("math");
  if (formula) range.selectNode(formula);
  let part = range.cloneContents();
  if (!find(`math, ${CONTROLS}`, part)) return null;
  for (const control of part.querySelectorAll(CONTROLS)) control.remove();
  for (const math of part.querySelectorAll("math")) {
    const tex = document.createElement("span");
    tex.textContent = math.dataset.tex ?? math.textContent;
    tex.style.whiteSpace = "pre-wrap";
    math.replaceWith(tex);
  }
  // How it reads hangs on what it stands in: code keeps its lines, prose does not.
  for (let up = formula?.parentElement ?? root; up && !up.matches("#thread, main, dialog, body, html"); up = up.parentElement) {
    const around = up.cloneNode(false);
    around.append(part);
    part = around;
  }
  const place = document.createElement("div");
  place.className = "copied";
  place.append(part);
  for (const named of place.querySelectorAll("[id]")) named.removeAttribute("id");
  return place;
};

document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed || event.target.closest?.("input, textarea")) return;
  const place = copySelected(selection.getRangeAt(0).cloneRange());
  if (!place) return;
  document.body.append(place);
  event.clipboardData.setData("text/plain", place.innerText.trim());
  event.clipboardData.setData("text/html", place.innerHTML);
  place.remove();
  event.preventDefault();
});
