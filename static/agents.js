// What tools and executors do, as it comes: what is open stays open, and the steps that a page shows are not sent again.
"use strict";

// Parts of a page that is read again, with what is open in those that it shows.
const keepCalls = (fragment) => {
  for (const part of fragment.querySelectorAll(".call, .step")) {
    const was = one(`[id="${part.id}"] > details`), now = one(":scope > details", part);
    // A run that begins opens by itself.
    if (was && now && was !== now && (was.matches(".run") || !now.matches(".run"))) now.open = was.open;
    // Of one that has ended meanwhile, what is shown stays until its steps are read.
    const working = now?.open && one(":scope > .working[hx-get]", now), shown = was && one(":scope > .working > .course", was);
    if (working && shown) working.replaceChildren(shown);
  }
};
// The head of a run alone.
const updateRun = (was, now) => {
  was.dataset.status = now.dataset.status;
  one("summary", was).replaceChildren(...one("summary", now).childNodes);
  one(":scope > .failure", was)?.remove();
  const failure = one(":scope > .failure", now);
  if (failure) one("summary", was).after(failure);
};
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.target.matches(".working")) return;
  const steps = document.createElement("template");
  steps.innerHTML = detail.serverResponse;
  keepCalls(steps.content);
  detail.serverResponse = steps.innerHTML;
});
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target.matches(".course")) {
    keepCalls(fragment);
    for (const step of [...fragment.children]) {
      const known = document.getElementById(step.id);
      if (known) { known.replaceWith(step); htmx.process(step); }
    }
    handOn();
  } else if (target.matches(".call")) {
    const was = one(":scope > .run", target), now = one(".run", fragment);
    if (was && now) { updateRun(was, now); event.detail.shouldSwap = false; } else keepCalls(fragment);
  }
});
