// The page of imports: files are chosen, their progress is shown and can be cancelled, then what became of them.
// Listens to changes of the field, to Cancel, and to the leaving of the page.
import { importFiles, inWords, reasonInWords } from "./importing.js";
import { amount, find, gettext } from "./page.js";

const MAX_NAMED = 500;
const field = find("#import-files"), shown = find("#importing"), bar = find("progress", shown), words = find("p", shown);
const report = find("#import-report"), unread = find("#import-unread");
let going = null;

const run = async (files) => {
  going = new AbortController();
  field.disabled = true;
  shown.hidden = false;
  report.hidden = true;
  let doing = "";
  const result = await importFiles(files, {
    address: field.form.action, signal: going.signal,
    onProgress: ({ file, share, result: so }) => {
      bar.value = share;
      doing = gettext("%(file)s: %(percent)s %, %(number)s so far", { file: file.name, percent: Math.round(100 * share), number: amount(so.made) });
      words.textContent = doing;
    },
    onWait: (isWaiting) => { words.textContent = isWaiting ? `${doing}. ${gettext("The server cannot be reached; trying again…")}` : doing; },
  });
  going = null;
  field.disabled = false;
  field.value = "";
  shown.hidden = true;
  if (result.made === 1 && result.place && !result.unread.length && !result.updated) { location.assign(result.place); return; }
  report.hidden = false;
  find("p", report).textContent = `${result.isCancelled ? `${gettext("Cancelled. Choose the same file to go on.")} ` : ""}${inWords(result)}`;
  unread.replaceChildren(...result.unread.slice(0, MAX_NAMED).map((one) => Object.assign(document.createElement("li"), { textContent: reasonInWords(one) })));
  find("#import-unread-heading").hidden = !result.unread.length;
  if (result.made || result.updated) htmx.ajax("GET", location.pathname, { target: "#conversations", select: "#conversations > *" });
  find("h2", report).focus();
};

field.addEventListener("change", () => { if (field.files.length) run([...field.files]); });
find("button", shown).addEventListener("click", () => going?.abort());
addEventListener("beforeunload", (event) => { if (going) event.preventDefault(); });
