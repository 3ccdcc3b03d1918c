// Long pastes: a marker in the box stands for each, and only markers that a paste of this draft has put there count.
// Listens to nothing: the composer hands on what becomes of its box.
import { amount, copyTemplate, find, gettext, panel } from "./page.js";

export const MAX_PASTED_CHARS = 200; // a longer text becomes a marker
const marker = (number) => `[LongText#${number}]`;
export const countCharacters = (text) => { let count = 0; for (const _ of text) count += 1; return count; };

// How `after` came out of `before`: `removed` characters at `at` gave way to `added`. Where that can be read in more
// than one way (one of two equal words is gone), it was done where the caret is.
const changeOf = (before, after, caret) => {
  const shorter = Math.min(before.length, after.length);
  let head = 0, tail = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  while (tail < shorter && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  if (head + tail > shorter) {
    tail = Math.max(shorter - head, Math.min(tail, after.length - caret));
    head = shorter - tail;
  }
  return { at: head, removed: before.length - tail - head, added: after.length - tail - head };
};
// Returns the places of markers after a change; a marker that the change has touched is none any more.
const moveMarkers = (places, { at, removed, added }) => places.flatMap(({ number, start }) => {
  if (start + marker(number).length <= at) return { number, start };
  return start >= at + removed ? { number, start: start + added - removed } : [];
});

// Follows the pastes of a box. `texts` has those too that were taken away: undo brings their markers back. `past` has each value
// with its places, in the order in which the browser's undo goes back over them.
export const trackPastes = (box) => {
  let value, places, texts, last, past, now;

  const note = () => { past = [...past.slice(Math.max(0, now - 200), now + 1), { value, places }]; now = past.length - 1; };
  const recall = (back) => {
    const step = back ? -1 : 1;
    for (let place = now + step; past[place]; place += step) if (past[place].value === value) return place;
    return null;
  };
  const restore = (draft) => {
    value = box.value;
    const own = (draft?.pastes ?? []).filter(({ number, start }) => value.startsWith(marker(number), start));
    places = own.map(({ number, start }) => ({ number, start }));
    texts = new Map(own.map(({ number, text }) => [number, text]));
    last = Math.max(0, ...texts.keys());
    [past, now] = [[], -1];
    note();
  };
  // As typing does it, so that it can be undone; the box is told of it by an event.
  const type = (text) => {
    box.focus();
    if (document.execCommand(text ? "insertText" : "delete", false, text)) return;
    box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
    box.dispatchEvent(new InputEvent("input"));
  };
  const replace = (number, text) => {
    const place = places.find((each) => each.number === number);
    if (!place) return;
    box.setSelectionRange(place.start, place.start + marker(number).length);
    type(text);
  };
  restore();

  return {
    restore,
    replace,
    text: (number) => texts.get(number),
    get all() { return places.map(({ number, start }) => ({ number, start, text: texts.get(number) })); },
    // Reads the change of the box, by typing, cutting, undoing.
    follow(event) {
      const before = value, undone = event.inputType === "historyUndo";
      value = box.value;
      const known = undone || event.inputType === "historyRedo" ? recall(undone) : null;
      if (known !== null) { places = past[known].places; now = known; return; }
      places = moveMarkers(places, changeOf(before, value, box.selectionEnd));
      note();
    },
    add(text) {
      last += 1;
      texts.set(last, text);
      type(marker(last));
      places = [...places, { number: last, start: box.selectionEnd - marker(last).length }].toSorted((a, b) => a.start - b.start);
      past[now].places = places;
      return last;
    },
    // Takes away the sent text; the words that were typed meanwhile stay.
    drop(length) {
      const pastes = this.all.filter(({ start }) => start >= length).map((paste) => ({ ...paste, start: paste.start - length }));
      box.value = value.slice(length);
      restore({ pastes });
    },
    get parts() {
      let end = 0;
      const parts = places.flatMap(({ number, start }) => {
        const typed = { text: value.slice(end, start) };
        end = start + marker(number).length;
        return [typed, { paste: number, text: texts.get(number) }];
      });
      return [...parts, { text: value.slice(end) }].filter(({ text }) => text);
    },
  };
};

// --- Chips, marks, and the page of a paste -------------------------------------------------------------------------------------------

const sizeOf = (text) => {
  const tokens = new TextEncoder().encode(text).length / 4;
  return gettext("%(characters)s characters · about %(tokens)s tokens", { characters: amount(countCharacters(text)), tokens: amount(Number(tokens.toPrecision(2))) });
};
export const pasteChip = (number, text) => {
  const chip = copyTemplate("paste-chip"), name = `LongText#${number}`;
  chip.dataset.number = number;
  find("b", chip).textContent = name;
  find("small", chip).textContent = sizeOf(text);
  for (const button of chip.querySelectorAll("button")) button.setAttribute("aria-label", `${button.title}: ${name}`);
  return chip;
};
// Returns the same text, to lie unseen behind the words: its markers stand out, and words that only look like one do not.
export const markersIn = (value, pastes) => {
  let end = 0;
  const pieces = pastes.flatMap(({ number, start }) => {
    const place = document.createElement("mark"), before = value.slice(end, start);
    place.textContent = marker(number);
    end = start + place.textContent.length;
    return [before, place];
  });
  return pastes.length ? [...pieces, `${value.slice(end)} `] : [];
};
export const showPaste = (number, text) => {
  const page = copyTemplate("paste-page");
  find("h2", page).textContent = `LongText#${number}`;
  find("p", page).textContent = sizeOf(text);
  find("pre", page).textContent = text;
  find("#reader").replaceChildren(page);
  panel.showModal();
};
