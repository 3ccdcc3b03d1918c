// The box of the home page: a draft, the starters, files, and Enter. Listens to the box, the form and the starters.
import { complain } from "./answers.js";
import { find, gettext, readStored, store } from "./page.js";

const form = find("#begin");
const post = (address, body) => fetch(address, {
  method: "POST", body, headers: { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" },
});
const read = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

if (form) {
  const box = form.elements.content, KEY = `draft:new${form.elements.project?.value ?? ""}`;
  const keep = () => {
    store(KEY, box.value);
    if (CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  };
  box.value ||= readStored(KEY) ?? "";
  keep();
  box.addEventListener("input", keep);
  box.addEventListener("keydown", (event) => {
    const sends = "enterSends" in form.dataset ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (event.key !== "Enter" || !sends || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  for (const starter of document.querySelectorAll("[data-starter]")) {
    starter.addEventListener("click", () => {
      box.value = starter.dataset.starter + box.value;
      keep();
      box.focus();
      box.setSelectionRange(box.value.length, box.value.length);
      if ("attaches" in starter.dataset) files.click();
    });
  }

  // --- Files: a new chat is opened that has them and the draft --------------------------------------------------------

  const files = find("#first-files"), attach = find("#attach-first");
  const openWith = async (chosen) => {
    const body = new FormData(form);
    body.delete("content");
    const answer = await post(files.dataset.open, body);
    const chat = await read(answer), tray = find("#attachments", chat), refused = [];
    if (!tray) throw new Error(`${answer.status}`);
    for (const file of chosen) {
      const part = new FormData();
      part.append("file", file, file.name);
      const upload = await post(tray.dataset.upload, part);
      if (!upload.ok) refused.push(find("[role=alert]", await read(upload))?.textContent.trim() ?? `${file.name}: ${upload.status}`);
    }
    const id = find("#composer", chat).dataset.conversation;
    store(`draft:${id}`, box.value && { text: box.value, id: "", pastes: [] });
    store(`refused:${id}`, refused.join(" "), "sessionStorage");
    store(KEY, "");
    location.assign(answer.url);
  };
  const attachAll = async (chosen) => {
    if (!chosen.length || attach.disabled) return;
    attach.disabled = true;
    try { await openWith(chosen); }
    catch { complain(gettext("The files were not attached. Nothing is lost: try again in a moment.")); }
    attach.disabled = false;
    files.value = "";
  };
  attach.addEventListener("click", () => files.click());
  files.addEventListener("change", () => attachAll([...files.files]));
  box.addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    attachAll([...event.clipboardData.files]);
  });

  // A message that is on its way is no draft, unless it comes back refused.
  form.addEventListener("htmx:beforeRequest", ({ target }) => { if (target === form) store(KEY, ""); });
  form.addEventListener("htmx:afterRequest", ({ target, detail }) => {
    if (target !== form) return;
    if (detail.xhr.status && detail.xhr.status < 400) return;
    keep();
    box.focus();
  });
}
