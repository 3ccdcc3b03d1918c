// Seconds that go on between two words of the server: of a compaction that runs, and of a reply that has no words yet, as
// reasoning models are silent for minutes. Listens to htmx:afterSwap and oobAfterSwap, and to a clock.
import { find, gettext, thread } from "./page.js";

const TICK_MS = 500;
const twoDigits = (number) => String(number).padStart(2, "0");

// --- A compaction: each count begins at the last one that the server sent ----------------------------------------------

const counts = new WeakMap();
const formatSeconds = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`);
const countOn = (place) => {
  const sent = Number(place.dataset.elapsed);
  if (counts.get(place)?.sent !== sent) counts.set(place, { sent, at: performance.now() });
  place.textContent = formatSeconds(sent + Math.floor((performance.now() - counts.get(place).at) / 1000));
};
setInterval(() => document.querySelectorAll("[data-elapsed]").forEach(countOn), TICK_MS);

// --- A reply that has been waited for ----------------------------------------------------------------------------------

const UNEXPLAINED = 2; // seconds of silence
const askedFor = new WeakMap(); // by the bubble, when it was asked for, on this page's clock

const askedForAt = (bubble) => {
  if (!askedFor.has(bubble)) askedFor.set(bubble, performance.now() - 1000 * (Number(bubble.dataset.waited) || 0));
  return askedFor.get(bubble);
};
const formatClock = (seconds) => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(seconds % 60);
  return hours ? `${hours}:${twoDigits(minutes)}:${rest}` : `${minutes}:${rest}`;
};
// The site's own words stay; where there are none, and the site does nothing else before, the page waits for the model.
const explainSilence = (bubble) => {
  const place = find(":scope > .waits", bubble), seconds = Math.floor((performance.now() - askedForAt(bubble)) / 1000);
  if (!place || find(":scope > .growing", bubble)?.textContent.trim() || seconds < UNEXPLAINED) return;
  const model = find("#pills")?.dataset.model;
  if (!place.textContent && (!model || find("[data-busy]"))) return;
  if (!place.textContent) place.append(gettext("Waiting for %(model)s", { model }));
  let shown = find(":scope > .elapsed", place);
  if (!shown) {
    shown = document.createElement("span");
    shown.className = "elapsed";
    shown.setAttribute("role", "timer"); // which screen readers do not announce by themselves
    place.append(shown);
  }
  shown.textContent = formatClock(seconds);
};
const explainAll = () => thread.querySelectorAll(".message[aria-busy]").forEach(explainSilence);
setInterval(explainAll, TICK_MS);
// A bubble that was fetched anew says so from the start.
for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(name, explainAll);
