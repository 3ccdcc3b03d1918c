// Imports files of conversations: the browser reads them and sends them in parts, so that their size does not matter.
// What was imported before is not imported again, so that an import that was broken off goes on where it was.
// Listens to the abort of its signal.
import { amount, find, gettext, ngettext } from "./page.js";
import { conversationsIn } from "./zips.js";

const PART = 4_000_000, MOST_IN_PART = 300;
const MOST = 24_000_000; // bytes of one conversation, as much as a request may have
const MOST_IMAGES = 16_000_000, MOST_IMAGE = 5_000_000; // bytes of images sent with a part, and of one
const PROJECTS = /projects(?:\/[^/]+)?\.json$/, OF_CLAUDE = '"prompt_template"'; // others have files of that name too
const BUSY = [429, 502, 503, 504];
const PAUSE = 2; // seconds before a part is sent again
const SPACE = new Set([9, 10, 13, 32, 44, 0xef, 0xbb, 0xbf]); // blanks, commas, and the mark of UTF-8
const code = (letter) => letter.charCodeAt(0);
const QUOTE = code('"'), BACKSLASH = code("\\"), COMMA = code(","), LIST = code("["), OPENING = [LIST, code("{")], END = code("]"), CLOSING = [END, code("}")];

const pause = (seconds, signal) => new Promise((resolve) => {
  setTimeout(resolve, 1000 * seconds);
  signal.addEventListener("abort", resolve, { once: true });
});

// Returns where the first value of a JSON list stands in the beginning of a document: a list, or one in an object, as
// Grok has it. -1 for another document, undefined where the document has not begun yet.
// A list of messages is one conversation, and goes as a whole.
const GROK = /^\{\s*"conversations"\s*:\s*\[/, MESSAGES = /^\[\s*\{\s*"(?:role|from)"\s*:/;
const startOfList = (chunk) => {
  const at = chunk.findIndex((byte) => !SPACE.has(byte));
  if (at < 0) return undefined;
  const beginning = new TextDecoder().decode(chunk.subarray(at, at + 200));
  if (chunk[at] === LIST) return MESSAGES.test(beginning) ? -1 : at + 1;
  const inObject = GROK.exec(beginning);
  return inObject ? at + inObject[0].length : -1;
};

// Yields the values of a JSON list as blobs; of a document that is no list, the whole. A value larger than MOST is null.
export async function* values(stream, onBytes = () => {}) {
  const reader = stream.getReader();
  let held = [], size = 0, depth = 0, isList = null, isBlank = true, isText = false, isEscaped = false, isOver = false;
  const hold = (piece) => {
    size += piece.length;
    if (size <= MOST) held.push(piece); else held = [];
  };
  const take = () => {
    const value = size > MOST ? null : new Blob(held);
    held = []; size = 0; isBlank = true;
    return value;
  };
  for (;;) {
    const { done, value: chunk } = await reader.read();
    if (done) break;
    onBytes(chunk.length);
    let from = 0;
    for (let at = 0; at < chunk.length && isList !== false && !isOver; at += 1) {
      const byte = chunk[at];
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
        continue;
      }
      if (isList === null) {
        const start = startOfList(chunk);
        if (start === undefined) break;
        isList = start >= 0;
        if (isList) { from = start; at = start - 1; }
        continue;
      }
      if (depth === 0 && (byte === COMMA || byte === END)) {
        hold(chunk.subarray(from, at));
        from = at + 1;
        if (!isBlank) yield take(); else { held = []; size = 0; }
        isOver = byte === END;
        continue;
      }
      if (!SPACE.has(byte)) isBlank = false;
      if (byte === QUOTE) isText = true;
      else if (OPENING.includes(byte)) depth += 1;
      else if (CLOSING.includes(byte)) depth -= 1;
    }
    if (!isOver) hold(chunk.subarray(from));
  }
  if (!isOver && (isList === false || !isBlank || size > 0 && isList === null)) yield take();
}

// Returns the answer to a part, or the reason of a refusal. A part that cannot be sent now is sent again until it can.
const send = async (body, images, { address, signal, onWait }) => {
  const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" };
  for (;;) {
    const form = new FormData();
    form.append("file", body, "conversations.json");
    if (images.size) {
      form.append("images", new Blob([...images.values()]), "images");
      form.append("sizes", JSON.stringify(Object.fromEntries([...images].map(([id, image]) => [id, image.size]))));
    }
    const answer = await fetch(address, { method: "POST", body: form, headers, signal }).catch((fault) => { if (signal.aborted) throw fault; });
    if (answer?.redirected || answer?.headers.has("HX-Redirect")) throw new Error(gettext("You are signed out. Sign in, then choose the same file again."));
    if (answer?.ok) return answer.json();
    if (answer && !BUSY.includes(answer.status)) {
      if (!answer.headers.has("HX-Retarget")) throw new Error(gettext("The server answered with an error (%(status)s).", { status: answer.status }));
      const refusal = new DOMParser().parseFromString(await answer.text(), "text/html");
      return { refused: find("p", refusal).firstChild.textContent.trim(), status: answer.status };
    }
    onWait(true);
    await pause(Number(answer?.headers.get("Retry-After")) || PAUSE, signal);
    if (signal.aborted) throw new Error(gettext("cancelled"));
    onWait(false);
  }
};

// Returns the ids of the images that a value names and its zip has.
const imagesOf = async (blobs, images) => {
  const named = new Set();
  if (images.size) for (const blob of blobs) for (const id of (await blob.text()).match(/file[-_][A-Za-z0-9]+/g) ?? []) named.add(id);
  return [...named].filter((id) => images.has(id) && images.get(id).size <= MOST_IMAGE);
};
const loaded = async (ids, images) => {
  const found = new Map();
  let room = MOST_IMAGES;
  for (const id of ids) {
    const { size, blob } = images.get(id), content = size <= room ? await blob().catch(() => null) : null;
    if (!content?.size || content.size > room) continue;
    found.set(id, content);
    room -= content.size;
  }
  return found;
};

// Adds what became of the values, the first of which has a number in its file. Where a part is refused as a whole, each
// half is sent by itself, until it is known which of the conversations is at fault.
const sendPart = async (part, result, to) => {
  const { file, number, isList, blobs, images } = part;
  if (!blobs.length || to.signal.aborted) return;
  const halve = async () => {
    const half = blobs.length >> 1;
    await sendPart({ ...part, blobs: blobs.slice(0, half) }, result, to);
    await sendPart({ ...part, number: number + half, blobs: blobs.slice(half) }, result, to);
  };
  const ids = await imagesOf(blobs, images);
  if (blobs.length > 1 && ids.reduce((sum, id) => sum + images.get(id).size, 0) > MOST_IMAGES) { await halve(); return; }
  const body = isList ? new Blob(["[", ...blobs.flatMap((blob, at) => at ? [",", blob] : [blob]), "]"]) : blobs[0];
  const answer = await send(body, await loaded(ids, images), to);
  if (answer.status === 413) throw new Error(answer.refused);
  if (answer.refused && blobs.length > 1) await halve();
  else if (answer.refused) {
    result.unread.push({ file, number: isList ? number : 0, title: "", reason: answer.refused });
  } else {
    for (const name of ["made", "messages", "updated", "unchanged", "skipped"]) result[name] += answer[name];
    result.place ||= answer.place;
    for (const one of answer.unread) result.unread.push({ file, number: isList ? number + one.number : 0, title: one.title, reason: one.reason });
  }
};

const partsOf = async (file) => {
  if (!/\.zip$/i.test(file.name)) return [{ name: file.name, size: file.size, stream: () => file.stream() }];
  const found = await conversationsIn(file).catch(() => { throw new Error(gettext("This zip file cannot be read.")); });
  if (!found.length) throw new Error(gettext("The zip file has no conversations.json."));
  return found;
};
const isListed = async (source) => {
  const reader = source.stream().getReader(), { value } = await reader.read();
  reader.cancel();
  return startOfList(value ?? new Uint8Array()) > 0;
};

const importOne = async (file, result, to) => {
  const sources = await partsOf(file), total = sources.reduce((sum, { size }) => sum + size, 0) || 1;
  let read = 0;
  for (const source of sources) {
    const isList = await isListed(source);
    let number = 1, blobs = [], size = 0;
    const flush = async () => {
      await sendPart({ file: file.name, number, isList, blobs, images: source.images ?? new Map() }, result, to);
      number += blobs.length; blobs = []; size = 0;
      to.onProgress({ file, share: Math.min(1, read / total), result });
    };
    for await (const value of values(source.stream(), (bytes) => { read += bytes; })) {
      if (to.signal.aborted) return;
      if (value === null || blobs.length && size + value.size > PART || blobs.length === MOST_IN_PART) await flush();
      if (value === null) {
        result.unread.push({ file: file.name, number: isList ? number : 0, title: "", reason: gettext("It has more than 24 MB.") });
        number += 1;
      } else if (PROJECTS.test(source.name) && !(await value.text()).includes(OF_CLAUDE)) continue;
      else { blobs.push(value); size += value.size; }
    }
    await flush();
  }
};

// Imports the files one after the other. `onProgress` hears of each part, `onWait` whether the server is waited for.
export const importFiles = async (files, { address, signal = new AbortController().signal, onProgress = () => {}, onWait = () => {} }) => {
  const result = { made: 0, messages: 0, updated: 0, unchanged: 0, skipped: 0, unread: [], place: "", isCancelled: false };
  for (const file of files) {
    onProgress({ file, share: 0, result });
    try { await importOne(file, result, { address, signal, onProgress, onWait }); } catch (fault) {
      if (!signal.aborted) result.unread.push({ file: file.name, number: 0, title: "", reason: fault.message });
    }
    if (signal.aborted) break;
  }
  result.isCancelled = signal.aborted;
  return result;
};

export const inWords = (result) => [
  ngettext("%(number)s conversation came in, with %(messages)s.", "%(number)s conversations came in, with %(messages)s.", result.made, {
    messages: ngettext("%(number)s message", "%(number)s messages", result.messages),
  }),
  result.updated && ngettext("%(number)s chat of an earlier import got new messages.", "%(number)s chats of an earlier import got new messages.", result.updated),
  result.unchanged && ngettext("%(number)s was here already.", "%(number)s were here already.", result.unchanged),
  result.skipped && ngettext("%(number)s was without a message.", "%(number)s were without a message.", result.skipped),
].filter(Boolean).join(" ");
export const reasonInWords = ({ file, number, title, reason }) => (
  `${file}${number ? `, ${gettext("conversation %(number)s", { number: amount(number) })}` : ""}${title ? ` (${title})` : ""}: ${reason}`
);
