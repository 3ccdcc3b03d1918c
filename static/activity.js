// Keeps the list of chats as it is: a spinner where a reply is written, a dot where one is new. Counts new replies in the title,
// and notifies of them where the person allows it. Asks often while something happens, then ever more rarely.
// Folds projects. Listens to activity, click, visibilitychange, pointerdown, pagehide, change, htmx:load and wsAfterMessage.
import { find, gettext, readStored, store, thread } from "./page.js";

const EVERY_MS = 5000, SLOWEST_MS = 20000, FIRST_MS = 1200, AFTER_NEWS_MS = 700, LEAST_MS = 2500, NOTIFY = "notify";
const list = find("#conversations");
const chat = () => (thread && document.visibilityState === "visible" ? location.pathname.split("/")[2] : "");
let stamp = list?.dataset.stamp, states = {}, timer = 0, dueAt = 0, askedAt = 0, every = EVERY_MS;

// The list stays as it is while a menu of it is open, where the focus is in it, and while more than its first part is shown.
const isBusy = () => find(":popover-open", list) || list.contains(document.activeElement) || find("#found > *") || find(".side.selecting");
const plan = (at) => {
  clearTimeout(timer);
  dueAt = at;
  timer = setTimeout(ask, at - Date.now());
};
const ask = () => {
  askedAt = Date.now();
  if (find(".spinner", list)) every = EVERY_MS;
  plan(askedAt + (document.visibilityState === "visible" ? every : SLOWEST_MS));
  every = Math.min(1.5 * every, SLOWEST_MS);
  if (isBusy() || list.querySelectorAll(".entry").length > 61) return;
  htmx.ajax("POST", list.dataset.activity, { source: list, target: list, swap: "innerHTML", values: { stamp, at: chat() } });
};
// News of a reply come many times a second: they bring the next question forward, never close to the last one.
const soon = () => {
  every = EVERY_MS;
  const at = Math.max(Date.now() + AFTER_NEWS_MS, askedAt + LEAST_MS);
  if (at < dueAt) plan(at);
};

const count = (number) => {
  const plain = document.title.replace(/^\(\d+\) /, "");
  const title = number ? `(${number}) ${plain}` : plain;
  if (document.title !== title) document.title = title;
};
const notify = (id, name) => {
  if (!readStored(NOTIFY) || document.visibilityState === "visible" || Notification.permission !== "granted") return;
  const note = new Notification(gettext("New reply"), { body: name, tag: id });
  note.addEventListener("click", () => { window.focus(); location.assign(`/c/${id}/`); });
};

if (stamp) {
  document.addEventListener("activity", ({ detail }) => {
    for (const [id, [state, name]] of Object.entries(detail.states)) {
      if (state === "unread" && states[id]?.[0] === "writing") notify(id, name);
    }
    ({ stamp, states } = detail);
    every = EVERY_MS;
    count(Object.values(states).filter(([state]) => state === "unread").length);
  });
  document.addEventListener("htmx:wsAfterMessage", soon);
  document.addEventListener("visibilitychange", soon);
  document.addEventListener("pointerdown", soon);
  // Whoever leaves a chat has seen the replies in it; the next page asks soon, as this may arrive after its list is made.
  addEventListener("pagehide", () => {
    const at = chat();
    if (!at || find(".message[aria-busy]", thread)) return;
    const seen = new FormData();
    seen.set("at", at);
    seen.set("csrfmiddlewaretoken", JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"]);
    navigator.sendBeacon(list.dataset.activity, seen);
  });
  plan(Date.now() + FIRST_MS);
}

// A folded project lists only the open chat, and those with news. The list is made by the site, which reads the cookie.
const MOST_FOLDED = 200;
document.addEventListener("click", ({ target }) => {
  const id = target.closest("[data-folds]")?.dataset.folds;
  if (!id) return;
  const folded = new Set(document.cookie.match(/(?:^|; )folders=([\da-f.]+)/)?.[1].split("."));
  if (!folded.delete(id)) folded.add(id);
  document.cookie = `folders=${[...folded].slice(-MOST_FOLDED).join(".")}; path=/; max-age=31536000; samesite=lax`;
  htmx.ajax("POST", list.dataset.activity, { source: list, target: list, swap: "innerHTML", values: { at: chat() } });
});

// The switch in the settings is shown where the browser can notify.
const show = () => {
  const box = find("#notify");
  if (!box || !("Notification" in window)) return;
  box.closest("label").hidden = false;
  box.checked = Boolean(readStored(NOTIFY)) && Notification.permission === "granted";
};
show();
document.addEventListener("htmx:load", show);
document.addEventListener("change", async ({ target }) => {
  if (target.id !== "notify") return;
  const allowed = target.checked && await Notification.requestPermission() === "granted";
  store(NOTIFY, allowed);
  target.checked = allowed;
});
