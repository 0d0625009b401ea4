// With these, two names look alike: what shows nothing, what turns the direction of writing, and spaces at the ends. Which
// characters show nothing, Unicode says.
const hidden = /\p{Default_Ignorable_Code_Point}|[\u2028\u2029]|^\p{White_Space}|\p{White_Space}$/u;
/** The emoji that Unicode lists for all to show. Some are joined by U+200D or hold a selector, and look like no other. */
const listedEmoji = '\\p{RGI_Emoji}';
// It is no literal: Node 20 has the flag v, and the language level that TypeScript checks has not.
const emoji = new RegExp(listedEmoji, 'gv');

/**
 * Whether a name of a tenant or a store holds something that cannot be seen. New names must not; what is stored under
 * such a name from before is read and goes on as any other.
 */
export function isHiddenName(name: string): boolean {
  return hidden.test(name) && hidden.test(name.replace(emoji, 'e'));
}

/** A tenant, or a store of it. */
export type Name = { readonly tenant: string; readonly store?: string | null };

/** Whether the name of the tenant or of the store holds something that cannot be seen. */
export function isHidden({ tenant, store = null }: Name): boolean {
  return isHiddenName(tenant) || (store !== null && isHiddenName(store));
}

/** Returns whether a name is reserved: `*` is the key of the default policy, and `.` and `..` are folders. */
export function isReservedName(name: string): boolean {
  return name === '*' || name === '.' || name === '..';
}

export const hiddenNameRule =
  'a new name has no characters that cannot be seen or turn the direction of writing (but in emoji), and no spaces at its ends';

/**
 * Compares text by its UTF-8 bytes. JavaScript compares UTF-16 units, by which the halves of an emoji come before
 * U+E000 to U+FFFF; in UTF-8 they come after.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at === length ? a.length - b.length : lift(a.charCodeAt(at)) - lift(b.charCodeAt(at));
}

function lift(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
