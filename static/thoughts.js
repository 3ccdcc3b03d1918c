// What a model thinks before its reply, as it comes: each piece once, with its seconds, closed when the reply begins unless a
// person has opened or closed it. Listens to htmx:oobBeforeSwap and wsAfterMessage, to click, and to a clock.
import { find, gettext, thread } from "./page.js";

const TICK_MS = 500;
const FOLLOWS = 40; // pixels from the end within which the latest words stay in view
const thinking = thread.getElementsByClassName("thinking"); // goes with the page
const begunAt = new WeakMap(), ended = new WeakSet();

const inWords = (seconds) => (
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`
);
const secondsOf = (box) => {
  const { seconds } = find("summary", box).dataset;
  if (!begunAt.has(box)) begunAt.set(box, performance.now() - 1000 * (Number(seconds) || 0));
  return Math.floor((performance.now() - begunAt.get(box)) / 1000);
};
const label = (box, words) => { find("summary > span", box).textContent = words; };
const hasWords = (box) => find(".growing", box.parentElement)?.textContent.trim() || find(".calls", box.parentElement);

const closeWhereAnswered = () => {
  for (const box of Array.from(thinking)) {
    if (ended.has(box) || !hasWords(box) || !find(".thoughts", box).textContent) continue;
    ended.add(box);
    label(box, gettext("Thought for %(time)s", { time: inWords(Math.max(1, secondsOf(box))) }));
    if (!("byHand" in find("details", box).dataset)) find("details", box).open = false;
  }
};
const tick = () => {
  for (const box of Array.from(thinking)) {
    if (ended.has(box) || !find(".thoughts", box).textContent) continue;
    label(box, gettext("Thinking… %(time)s", { time: inWords(secondsOf(box)) }));
  }
};
setInterval(() => { tick(); closeWhereAnswered(); }, TICK_MS);
document.addEventListener("htmx:wsAfterMessage", () => { if (thinking.length) closeWhereAnswered(); });
document.addEventListener("click", ({ target }) => {
  const head = target.closest?.(".thought > details > summary");
  if (head) head.parentElement.dataset.byHand = "";
});

// A piece names the character that it begins at: what a bubble that was fetched meanwhile has already is not shown twice,
// and thoughts that begin anew take the place of those before.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (!target.matches(".thinking .thoughts") || fragment.dataset?.at === undefined) return;
  const at = Number(fragment.dataset.at), text = Array.from(fragment.textContent);
  if (at === 0) { target.textContent = ""; target.dataset.length = "0"; }
  const known = Number(target.dataset.length);
  if (at > known) { event.detail.shouldSwap = false; htmx.trigger(document.body, "converge"); return; }
  const fresh = text.slice(known - at);
  fragment.textContent = fresh.join("");
  target.dataset.length = String(known + fresh.length);
  const isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight < FOLLOWS;
  if (isAtEnd) requestAnimationFrame(() => { target.scrollTop = target.scrollHeight; });
});
