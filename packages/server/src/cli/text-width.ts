/** Columns a text takes on a terminal: wide East Asian characters two, combining marks none. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text in at most `width` columns, its end replaced by … when it is longer. */
export function fitText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let fitted = '';
  let used = 1;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width) break;
    fitted += character;
  }
  return `${fitted}…`;
}

/** The same with … in its middle: of a URL, its beginning and its end tell it from others. */
export function fitMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const start = fitText(text, Math.ceil((width + 1) / 2));
  const room = width - displayWidth(start);
  let end = '';
  for (const character of [...text].reverse()) {
    if (displayWidth(character + end) > room) break;
    end = character + end;
  }
  return start + end;
}

/**
 * Text of others without control characters and marks that change the direction of writing: a record's
 * name or an error message must not break a row, send escape sequences to the terminal, or show as another.
 */
export function printable(text: string): string {
  return text
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}

const wideRanges = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
] as const;

function characterWidth(character: string): number {
  if (/^[\p{Mark}\p{Format}]$/u.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  return wideRanges.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
