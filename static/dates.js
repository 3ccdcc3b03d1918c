// Times in the person's zone and language of dates, and a line before the first message of each day. Listens to nothing:
// it looks at the thread again whenever its messages change.
import { find, gettext, language, thread } from "./page.js";

const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "short" });
const keyOf = (date) => `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
const nameOf = (date) => {
  const now = new Date(), before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (keyOf(date) === keyOf(now)) return gettext("Today");
  if (keyOf(date) === keyOf(before)) return gettext("Yesterday");
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long", year }).format(date);
};

// Each time is written once; the element is marked, so that it is not read again.
const localize = () => {
  for (const time of thread.querySelectorAll(".acts time:not([title])")) {
    const date = new Date(time.dateTime);
    time.textContent = clock.format(date);
    time.title = whole.format(date);
  }
};
// The lines stand before messages, not within: a message is replaced by its next version.
const divide = () => {
  let day = "";
  for (const message of thread.querySelectorAll(":scope > .message[data-at]")) {
    const date = new Date(message.dataset.at), key = keyOf(date), line = message.previousElementSibling;
    const has = line?.matches(".day");
    if (key !== day && !has) {
      const made = document.createElement("p");
      made.className = "day";
      const button = document.createElement("button");
      button.type = "button";
      button.title = gettext("Go to a date");
      button.textContent = nameOf(date);
      made.append(button);
      message.before(made);
    } else if (key !== day && line.textContent !== nameOf(date)) line.firstChild.textContent = nameOf(date);
    else if (key === day && has) line.remove();
    day = key;
  }
  for (const line of thread.querySelectorAll(":scope > .day")) if (!line.nextElementSibling?.matches(".message")) line.remove();
};

if (thread) {
  let waits = false;
  const look = () => {
    waits = false;
    localize();
    divide();
  };
  new MutationObserver(() => {
    if (!waits) { waits = true; requestAnimationFrame(look); }
  }).observe(thread, { childList: true, subtree: false });
  new MutationObserver((all) => {
    if (all.some(({ addedNodes }) => Array.from(addedNodes).some((node) => node.nodeType === 1 && find("time", node)))) localize();
  }).observe(thread, { childList: true, subtree: true });
  look();
}
