// Makes a small zip of what an import reads of a large export: its conversations, without images and sounds. A zip's
// directory is at its end, so that only that and the members themselves are read of the file. Listens to nothing.

const WANTED = /(?:^|\/)conversations(?:-\d{1,6})?\.json$/;
const SMALL = 5_000_000; // such a file is sent as it is
const MAX_DIRECTORY = 64_000_000;
const LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50, END64 = 0x06064b50, LOCATOR64 = 0x07064b50;
const FULL = 0xffffffff;

const view = async (blob, from, to) => new DataView(await blob.slice(from, to).arrayBuffer());
const long = (data, at) => Number(data.getBigUint64(at, true));

// Returns where the directory begins and how long it is; nothing for a file that is no zip.
const directoryOf = async (file) => {
  const start = Math.max(0, file.size - 65_557 - 20), end = await view(file, start, file.size);
  let at = end.byteLength - 22;
  while (at >= 0 && end.getUint32(at, true) !== END) at -= 1;
  if (at < 0) return null;
  const size = end.getUint32(at + 12, true), from = end.getUint32(at + 16, true);
  if (from !== FULL || at < 20 || end.getUint32(at - 20, true) !== LOCATOR64) return { from, size };
  const place = long(end, at - 12), record = await view(file, place, place + 56);
  return record.getUint32(0, true) === END64 ? { from: long(record, 48), size: long(record, 40) } : null;
};

// Returns the members that are read, with what the directory says of each.
const wantedIn = (directory) => {
  const found = [];
  let at = 0;
  while (at + 46 <= directory.byteLength && directory.getUint32(at, true) === ENTRY) {
    const [named, extra, comment] = [28, 30, 32].map((place) => directory.getUint16(at + place, true));
    const name = new Uint8Array(directory.buffer, at + 46, named);
    let packed = directory.getUint32(at + 20, true), offset = directory.getUint32(at + 42, true);
    const unpacked = directory.getUint32(at + 24, true);
    // In a large zip the figures that do not fit stand in an extra field, in this order.
    for (let place = at + 46 + named, last = place + extra; place + 4 <= last;) {
      const kind = directory.getUint16(place, true), length = directory.getUint16(place + 2, true);
      let figure = place + 4 + (kind === 1 && unpacked === FULL ? 8 : 0);
      if (kind === 1 && packed === FULL) { packed = long(directory, figure); figure += 8; }
      if (kind === 1 && offset === FULL) offset = long(directory, figure);
      place += 4 + length;
    }
    if (WANTED.test(new TextDecoder().decode(name))) {
      found.push({ name, packed, unpacked, offset, method: directory.getUint16(at + 10, true), sum: directory.getUint32(at + 16, true) });
    }
    at += 46 + named + extra + comment;
  }
  return found;
};

const header = (signature, { name, packed, unpacked, method, sum }, offset) => {
  const isEntry = signature === ENTRY, size = isEntry ? 46 : 30, data = new DataView(new ArrayBuffer(size + name.length));
  const shift = isEntry ? 2 : 0; // an entry also names the version that made it
  data.setUint32(0, signature, true);
  for (const place of isEntry ? [4, 6] : [4]) data.setUint16(place, 20, true);
  data.setUint16(6 + shift, 0x800, true); // names are UTF-8
  data.setUint16(8 + shift, method, true);
  data.setUint32(14 + shift, sum, true);
  data.setUint32(18 + shift, packed, true);
  data.setUint32(22 + shift, unpacked, true);
  data.setUint16(26 + shift, name.length, true);
  if (isEntry) data.setUint32(42, offset, true);
  new Uint8Array(data.buffer).set(name, size);
  return data.buffer;
};

// Returns the file, or a zip of its conversations alone. What cannot be read here is left to the server to refuse.
export const withoutTheRest = async (file) => {
  if (file.size <= SMALL || !/\.zip$/i.test(file.name)) return file;
  try {
    const place = await directoryOf(file);
    if (!place || place.size > MAX_DIRECTORY) return file;
    const members = wantedIn(await view(file, place.from, place.from + place.size));
    const parts = [], entries = [];
    let written = 0;
    for (const member of members) {
      const local = await view(file, member.offset, member.offset + 30);
      if (local.getUint32(0, true) !== LOCAL || member.unpacked === FULL) return file;
      const begin = member.offset + 30 + local.getUint16(26, true) + local.getUint16(28, true);
      const head = header(LOCAL, member);
      entries.push(header(ENTRY, member, written));
      parts.push(head, file.slice(begin, begin + member.packed));
      written += head.byteLength + member.packed;
    }
    if (!members.length) return file;
    const end = new DataView(new ArrayBuffer(22));
    end.setUint32(0, END, true);
    for (const at of [8, 10]) end.setUint16(at, members.length, true);
    end.setUint32(12, entries.reduce((sum, entry) => sum + entry.byteLength, 0), true);
    end.setUint32(16, written, true);
    return new File([...parts, ...entries, end.buffer], file.name, { type: "application/zip" });
  } catch {
    return file;
  }
};
