// Files that are dropped on the list, or on a page without a conversation, are imported one after the other. On a
// conversation they are attachments: that is the composer's business. Listens to dragover, dragleave and drop.
import { complain } from "./answers.js";
import { composer, find, gettext } from "./page.js";

const side = find("#side"), address = side?.dataset.import;

const showReceiving = (words) => {
  find(".app").classList.toggle("receiving", Boolean(words));
  find(".app").dataset.receiving = words;
};
const canImport = ({ dataTransfer, target }) => (
  address && find("#alert") && dataTransfer?.types.includes("Files") && (composer ? side : find(".app")).contains(target)
);
const run = async (files) => {
  showReceiving(gettext("Importing…"));
  const { importFiles, inWords, reasonInWords } = await import("./importing.js");
  const result = await importFiles(files, { address, onProgress: ({ file, share }) => {
    showReceiving(files.length > 1
      ? gettext("Importing %(number)s of %(files)s %(percent)s %", { number: files.indexOf(file) + 1, files: files.length, percent: Math.round(100 * share) })
      : gettext("Importing %(percent)s %", { percent: Math.round(100 * share) }));
  } });
  showReceiving("");
  if (result.made === 1 && !result.unread.length && !result.updated) { location.assign(result.place); return; }
  if (result.made || result.updated) await htmx.ajax("GET", find(".brand").href, { target: "#conversations", select: "#conversations > *" });
  complain([inWords(result), ...result.unread.slice(0, 5).map(reasonInWords)].join(" "));
};

document.addEventListener("dragover", (event) => {
  showReceiving(canImport(event) ? gettext("Drop to import") : "");
  if (canImport(event)) event.preventDefault();
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) showReceiving(""); });
document.addEventListener("drop", (event) => {
  showReceiving("");
  if (!canImport(event)) return;
  event.preventDefault();
  run([...event.dataTransfer.files]);
});
