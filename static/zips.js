// Finds the conversations of an export in a zip. A zip's directory is at its end, so that only that and the members
// themselves are read of a file, however large its images are. Listens to nothing.

const WANTED = /(?:^|\/)(?:conversations(?:-\d{1,6})?|prod-grok-backend|projects(?:\/[^/]+)?)\.json$|(?:^|\/)[^/]*Gemini[^/]*\/[^/]+\.json$/, NESTED = /\.zip$/i;
const IMAGE = /(?:^|\/)(file[-_][A-Za-z0-9]{1,80})[-.][^/]*$/i; // ChatGPT's: an image's name begins with its id
const MAX_DIRECTORY = 64_000_000;
const LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50, END64 = 0x06064b50;
const FULL = 0xffffffff;
const STORED = 0, DEFLATED = 8;

const view = async (blob, from, to) => new DataView(await blob.slice(from, to).arrayBuffer());
const long = (data, at) => Number(data.getBigUint64(at, true));

// Returns where the directory begins and how long it is; nothing for a file that is no zip.
const directoryOf = async (file) => {
  const start = Math.max(0, file.size - 65_557 - 20), end = await view(file, start, file.size);
  let at = end.byteLength - 22;
  while (at >= 0 && end.getUint32(at, true) !== END) at -= 1;
  if (at < 0) return null;
  const size = end.getUint32(at + 12, true), from = end.getUint32(at + 16, true);
  if (from !== FULL || at < 20) return { from, size };
  const place = long(end, at - 12), record = await view(file, place, place + 56);
  return record.byteLength === 56 && record.getUint32(0, true) === END64 ? { from: long(record, 48), size: long(record, 40) } : null;
};

// Returns the members that are read, and zips within, with what the directory says of each, and images by their ids.
const wantedIn = (directory) => {
  const found = [], images = new Map();
  let at = 0;
  while (at + 46 <= directory.byteLength && directory.getUint32(at, true) === ENTRY) {
    const [named, extra, comment] = [28, 30, 32].map((place) => directory.getUint16(at + place, true));
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, named));
    let packed = directory.getUint32(at + 20, true), size = directory.getUint32(at + 24, true), offset = directory.getUint32(at + 42, true);
    // In a large zip the figures that do not fit stand in an extra field, in this order.
    for (let place = at + 46 + named, last = place + extra; place + 4 <= last;) {
      const kind = directory.getUint16(place, true), length = directory.getUint16(place + 2, true);
      if (kind === 1) {
        let figure = place + 4;
        if (size === FULL) { size = long(directory, figure); figure += 8; }
        if (packed === FULL) { packed = long(directory, figure); figure += 8; }
        if (offset === FULL) offset = long(directory, figure);
      }
      place += 4 + length;
    }
    const member = { name, packed, size, offset, method: directory.getUint16(at + 10, true) }, image = IMAGE.exec(name);
    if (WANTED.test(name) || NESTED.test(name)) found.push(member); else if (image) images.set(image[1], member);
    at += 46 + named + extra + comment;
  }
  return { found: found.toSorted((one, other) => one.name.localeCompare(other.name)), images };
};

const contentOf = async (file, { packed, offset, method }) => {
  const local = await view(file, offset, offset + 30);
  if (local.byteLength < 30 || local.getUint32(0, true) !== LOCAL || ![STORED, DEFLATED].includes(method)) throw new Error("unreadable");
  const begin = offset + 30 + local.getUint16(26, true) + local.getUint16(28, true), content = file.slice(begin, begin + packed);
  return { content, isPacked: method === DEFLATED };
};
const unpacked = ({ content, isPacked }) => (
  isPacked ? content.stream().pipeThrough(new DecompressionStream("deflate-raw")) : content.stream()
);

// Returns the files of conversations in a zip, also of zips within it: their names, sizes in bytes, contents as streams,
// and the images beside them by their ids, with their sizes and, as promises, their blobs. Throws for a file that is no zip, and for a member that is packed in another way.
export const conversationsIn = async (file, depth = 0) => {
  const place = await directoryOf(file);
  if (!place || place.size > MAX_DIRECTORY) throw new Error("unreadable");
  const found = [], members = wantedIn(await view(file, place.from, place.from + place.size)), images = new Map();
  for (const [id, member] of members.images) {
    images.set(id, { size: member.size, blob: async () => new Response(unpacked(await contentOf(file, member))).blob() });
  }
  for (const member of members.found) {
    const content = await contentOf(file, member);
    if (!NESTED.test(member.name)) found.push({ name: member.name, size: member.size, images, stream: () => unpacked(content) });
    else if (depth === 0) found.push(...await conversationsIn(content.isPacked ? await new Response(unpacked(content)).blob() : content.content, 1));
  }
  return found;
};
