// Tar as POSIX has it (ustar), of plain files alone:
// https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06

/** A file in a tar. `at` is its time in milliseconds; the name has less than 100 bytes. */
type TarFile = { readonly name: string; readonly sizeBytes: number; readonly at: number };

export const tarBlockBytes = 512;
/** What ends a tar. */
export const tarEnd = Buffer.alloc(2 * tarBlockBytes);

const firstOctal = 0o77777777777;
const sumAt = 148;

/** The block before a file. A size that has no room as text is binary, as GNU, libarchive and Python write it, too. */
export function tarHeader({ name, sizeBytes, at }: TarFile): Buffer {
  const header = Buffer.alloc(tarBlockBytes);
  const octal = (value: number, place: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), place, 'latin1');
  header.write(name, 0, 100);
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (sizeBytes <= firstOctal) octal(sizeBytes, 124, 11);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(sizeBytes), 128);
  }
  octal(Math.floor(at / 1000), 136, 11);
  header.write('0', 156, 'latin1');
  header.write('ustar\u000000', 257, 'latin1');
  octal(sumOf(header), sumAt, 6);
  header.write('\u0000 ', sumAt + 6, 'latin1');
  return header;
}

/** How many zeros stand behind a file of this size. */
export function tarPaddingBytes(sizeBytes: number): number {
  return (tarBlockBytes - (sizeBytes % tarBlockBytes)) % tarBlockBytes;
}

/** What a block before a file says of it; null for the zeros at the end. Throws for what is no such block. */
export function readTarHeader(header: Buffer): Pick<TarFile, 'name' | 'sizeBytes'> | null {
  if (header.every((byte) => byte === 0)) return null;
  const text = (from: number, end: number) =>
    header.toString('utf8', from, end).replace(/\u0000.*$/s, '');
  const isFile = header[156] === 0x30 && text(257, 263) === 'ustar';
  if (!isFile || Number.parseInt(text(sumAt, sumAt + 8), 8) !== sumOf(header)) {
    throw new Error('it is no tar of plain files');
  }
  const isBinary = header[124] === 0x80;
  return {
    name: text(0, 100),
    sizeBytes: isBinary ? Number(header.readBigUInt64BE(128)) : Number.parseInt(text(124, 136), 8),
  };
}

/** The sum of the bytes of a header, in which the sum itself counts as blanks. */
function sumOf(header: Buffer): number {
  const isSum = (at: number) => at >= sumAt && at < sumAt + 8;
  return header.reduce((sum, byte, at) => sum + (isSum(at) ? 0x20 : byte), 0);
}
