// Files that are dropped on the list, or on a page without a conversation, are imported one after the other, by the
// view of the form that is there. On a conversation they are attachments: that is the composer's business.
// Listens to dragover, dragleave and drop, and to large files that are chosen.
import { complain } from "./answers.js";
import { composer, find } from "./page.js";

const LARGE = 5_000_000;
const side = find("#side"), importing = find("#side form.import");

const showReceiving = (words) => {
  find(".app").classList.toggle("receiving", Boolean(words));
  find(".app").dataset.receiving = words;
};
const canImport = ({ dataTransfer, target }) => (
  importing && find("#alert") && dataTransfer?.types.includes("Files") && (composer ? side : find(".app")).contains(target)
);

// Returns the address of the imported conversation. Throws the reason of a refusal, in words.
const importFile = async (file) => {
  const body = new FormData(), headers = JSON.parse(document.body.getAttribute("hx-headers"));
  body.append("file", await (await import("./zips.js")).withoutTheRest(file));
  const answer = await fetch(importing.getAttribute("hx-post"), { method: "POST", body, headers: { ...headers, "HX-Request": "true" } })
    .catch(() => { throw new Error("The server cannot be reached. Try again in a moment."); });
  if (answer.ok) return answer.headers.get("HX-Redirect");
  if (!answer.headers.has("HX-Retarget")) throw new Error(`The server answered with an error (${answer.status}).`);
  const refusal = new DOMParser().parseFromString(await answer.text(), "text/html");
  throw new Error(find("p", refusal).firstChild.textContent.trim());
};
const importFiles = async (files) => {
  const places = [], refusals = [];
  for (const [number, file] of files.entries()) {
    showReceiving(files.length > 1 ? `Importing ${number + 1} of ${files.length}…` : "Importing…");
    try { places.push(await importFile(file)); } catch (fault) { refusals.push(`${file.name}: ${fault.message}`); }
  }
  showReceiving("");
  if (!refusals.length) location.assign(places.length > 1 ? find(".brand").href : places[0]);
  else if (places.length) await htmx.ajax("GET", find(".brand").href, { target: "#conversations", select: "#conversations > *" });
  if (refusals.length) complain(refusals.join(" "));
};

document.addEventListener("dragover", (event) => {
  showReceiving(canImport(event) ? "Drop to import" : "");
  if (canImport(event)) event.preventDefault();
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) showReceiving(""); });
document.addEventListener("drop", (event) => {
  showReceiving("");
  if (!canImport(event)) return;
  event.preventDefault();
  importFiles([...event.dataTransfer.files]);
});
// A zip that is too large for a request is sent without what is not read.
document.addEventListener("change", (event) => {
  const [file] = event.target.matches?.("form.import input[type=file]") ? event.target.files : [];
  if (!file || !/\.zip$/i.test(file.name) || file.size <= LARGE) return;
  event.stopImmediatePropagation();
  event.target.value = "";
  importFiles([file]);
}, true);
